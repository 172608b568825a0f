(* Generated from the formula of the claim aepo.lemma-4.1 (AEPO, Lemma 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (temperature : R) (factor : R),
  (2 <= n)%nat ->
  0 < temperature ->
  1 < factor ->
  smallest n logits < largest n logits ->
  entropy n (tempered temperature logits) < entropy n (tempered (temperature * factor) logits) /\
  derivative (fun t => entropy n (tempered t logits)) (temperature) (covariance n (softmax n (tempered temperature logits)) logits logits / temperature ^ 3).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (temperature : R) (factor : R),
  (2 <= n)%nat /\
  0 < temperature /\
  1 < factor /\
  smallest n logits < largest n logits.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (temperature : R) (factor : R),
  (2 <= n)%nat ->
  0 < temperature ->
  1 < factor ->
  smallest n logits < largest n logits ->
  temperature * factor <> 0 /\
  temperature <> 0 /\
  (forall t : R, t = temperature -> t <> 0) /\
  temperature ^ 3 <> 0.
