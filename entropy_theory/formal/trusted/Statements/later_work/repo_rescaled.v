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

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

(** Cov_pi(log pi, pi A), as the covariance of the reward and c. *)
Definition plain_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward (own_covariance n logits).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (strength : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < strength ->
  0 <= sized n logits (fun a => 1) /\
  derivative (fun t => entropy n (fun a => logits a + t * score_step n logits (fun b => softmax n logits b * ((if correct b then 1 else - 1) - strength * log_softmax n logits b)) a)) (0) (strength * sized n logits (fun a => 1) - plain_covariance n logits (fun a => if correct a then 1 else - 1)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (strength : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < strength.
