(* Generated from the formula of the claim aepo.target-distributions (AEPO, Section 7 (learning under target distributions)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (target_logits : vector) (property : vector),
  (2 <= n)%nat ->
  0 <= (mean n (softmax n target_logits) property - mean n (softmax n logits) property) * covariance n (softmax n logits) property (fun a => softmax n target_logits a - softmax n logits a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
