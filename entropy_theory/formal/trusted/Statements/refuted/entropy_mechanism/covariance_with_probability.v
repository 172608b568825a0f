(* Generated from the formula of the claim entropy-mechanism.covariance-with-probability (Entropy Mechanism, abstract ('covariance between action probability and the change in logits')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Cov_pi(log pi, A) = Cov_pi(z, r). *)
Definition natural_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) logits reward.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  0 <= Rmax (Rmin (covariance n (softmax n logits) (softmax n logits) reward) (natural_covariance n logits reward)) (Rmin (- covariance n (softmax n logits) (softmax n logits) reward) (- natural_covariance n logits reward)).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
