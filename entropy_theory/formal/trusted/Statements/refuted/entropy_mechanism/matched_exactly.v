(* Generated from the formula of the claim entropy-mechanism.matched-exactly (Entropy Mechanism, abstract). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step_without_temperature (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  entropy n (fun a => logits a + learning_rate * unit_step_without_temperature n logits correct a) - entropy n logits + covariance n (softmax n logits) (log_softmax n logits) (fun a => learning_rate * unit_step_without_temperature n logits correct a) = 0.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
