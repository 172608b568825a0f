(* Generated from the formula of the claim later-work.repo-rescaled (REPO (arXiv 2603.11682), the rescaled form REPO-R). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** Cov_pi(|A| log pi, c), what REPO-R adds to the rate of entropy per unit of zeta. *)
Definition sized (n : nat) (logits : vector) (size : vector) : R :=
  covariance n (softmax n logits) (fun a => size a * log_softmax n logits a) (own_covariance n logits).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= sized n logits (fun a => if correct a then 1 - total_on n correct (softmax n logits) else total_on n correct (softmax n logits)).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
