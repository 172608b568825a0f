(* Generated from the formula of the claim extension.weight-decay (Extension of AEPO, section 4 (temperature)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (decay : R),
  (2 <= n)%nat ->
  0 <= decay ->
  decay <= 1 ->
  0 <= entropy_change n logits (fun a => - decay * logits a) /\
  derivative (fun t => entropy n (fun a => (1 - t) * logits a)) (0) (covariance n (softmax n logits) logits logits) /\
  (((0 < decay) /\ (0 < covariance n (softmax n logits) logits logits)) -> 0 < entropy_change n logits (fun a => - decay * logits a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (decay : R),
  (2 <= n)%nat /\
  0 <= decay /\
  decay <= 1.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (decay : R),
  (2 <= n)%nat /\
  0 <= decay /\
  decay <= 1 /\
  ((0 < decay) /\ (0 < covariance n (softmax n logits) logits logits)).
