(* Generated from the formula of the claim entropy-mechanism.covariance-positive-npg (Entropy Mechanism, lessons from the entropy dynamics (Table 1), with Theorem 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Cov_pi(log pi, A) = Cov_pi(z, r). *)
Definition natural_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) logits reward.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  0 <= natural_covariance n logits reward.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
