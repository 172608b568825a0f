(* Generated from the formula of the claim entropy-mechanism.covariance-agreement (Entropy Mechanism, Theorems 1 and 2, and the code of Clip-Cov and KL-Cov). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** Cov_pi(log pi, pi A), as the covariance of the reward and c. *)
Definition plain_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward (own_covariance n logits).

(** Cov_pi(log pi, A) = Cov_pi(z, r). *)
Definition natural_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) logits reward.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  0 <= Rmax (Rmin (plain_covariance n logits reward) (natural_covariance n logits reward)) (Rmin (- plain_covariance n logits reward) (- natural_covariance n logits reward)).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
