(* Generated from the formula of the claim later-work.repo (REPO (arXiv 2603.11682), the modified advantage). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

(** log pi_a + H = z_a - E z. *)
Definition relative_log_prob (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) logits.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** Cov_pi(log pi, pi A), as the covariance of the reward and c. *)
Definition plain_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward (own_covariance n logits).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (score : vector) (strength : R),
  (2 <= n)%nat ->
  0 < strength ->
  (forall a, (a < n)%nat -> score_step n logits (fun b => softmax n logits b * (score b - strength * relative_log_prob n logits b)) a - score_step n logits (fun b => softmax n logits b * score b) a = strength * entropy_gradient n logits a) /\
  derivative (fun t => entropy n (fun a => logits a + t * score_step n logits (fun b => softmax n logits b * (score b - strength * relative_log_prob n logits b)) a)) (0) (strength * sum n (fun a => own_covariance n logits a * own_covariance n logits a) - plain_covariance n logits score).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (score : vector) (strength : R),
  (2 <= n)%nat /\
  0 < strength.
