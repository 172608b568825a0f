(* Generated from the formula of the claim extension.group-baseline (Extension of AEnt, Section 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** w: advantages of the sampled tokens, minus their mean; zero elsewhere. *)
Definition weights (n : nat) (advantage : vector) (sampled : mask) : vector :=
  fun a => if sampled a then advantage a - total_on n sampled advantage / total_on n sampled (fun b => 1) else 0.

(** c sum_i w_i (e_i - pi). *)
Definition group_step (n : nat) (logits : vector) (w : vector) (size : R) : vector :=
  fun a => size * (w a - softmax n logits a * sum n w).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (advantage : vector) (size : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < size ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  forall a, (a < n)%nat -> 0 <= (if correct a then 1 else - size * mean n (softmax n logits) (weights n advantage correct) - (log_softmax n (moved_by logits (group_step n logits (weights n advantage correct) size)) a - log_softmax n logits a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (advantage : vector) (size : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < size /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition weights_defined (n : nat) (advantage : vector) (sampled : mask) (a : nat) : Prop :=
  ((sampled a = true) -> total_on n sampled (fun b => 1) <> 0).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (advantage : vector) (size : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < size ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall a, (a < n)%nat -> ~ (correct a = true) -> forall b, (b < n)%nat -> weights_defined n advantage correct b) /\
  (forall a, (a < n)%nat -> ~ (correct a = true) -> forall c, (c < n)%nat -> weights_defined n advantage correct c).
