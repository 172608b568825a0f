(* Generated from the formula of the claim extension.loss-binary-rewards (ours: GRPO, RLOO, Dr. GRPO, OPO, QAE, W-REINFORCE, NSR, GPG, difficulty weights and pass@k). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

(** The advantage a of right answers, and -b of wrong ones. *)
Definition by_reward (n : nat) (correct : mask) (right : R) (wrong : R) : vector :=
  fun a => if correct a then right else - wrong.

(** The expected step of positives: 1_{A*} pi - p pi. *)
Definition positives_only (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

(** The first-order change of entropy: -Cov_pi(z, step). *)
Definition first_order (n : nat) (logits : vector) (step : vector) : R :=
  - covariance n (softmax n logits) logits step.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** Entropy rate of training on positives only: -sum_{A*} pi_a (S_a - Sbar). *)
Definition rate_of_positives (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (right : R) (wrong : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= right ->
  0 <= wrong ->
  ((forall a, (a < n)%nat -> score_step n logits (fun b => softmax n logits b * by_reward n correct right wrong b) a = (right + wrong) * positives_only n logits correct a) /\
  first_order n logits (score_step n logits (fun b => softmax n logits b * by_reward n correct right wrong b)) - (right + wrong) * rate_of_positives n logits correct = 0) /\
  derivative (fun t => entropy n (fun a => logits a + t * score_step n logits (fun b => softmax n logits b * by_reward n correct right wrong b) a)) (0) ((right + wrong) * rate_of_positives n logits correct).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (right : R) (wrong : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 <= right /\
  0 <= wrong.
