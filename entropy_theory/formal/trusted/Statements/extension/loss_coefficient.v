(* Generated from the formula of the claim extension.loss-coefficient (ours: every loss that multiplies grad log pi of a token by a coefficient). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The first-order change of entropy: -Cov_pi(z, step). *)
Definition first_order (n : nat) (logits : vector) (step : vector) : R :=
  - covariance n (softmax n logits) logits step.

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** Cov_pi(log pi, pi A), as the covariance of the reward and c. *)
Definition plain_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward (own_covariance n logits).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (score : vector),
  (2 <= n)%nat ->
  first_order n logits (score_step n logits (fun b => softmax n logits b * score b)) + plain_covariance n logits score = 0 /\
  derivative (fun t => entropy n (fun a => logits a + t * score_step n logits (fun b => softmax n logits b * score b) a)) (0) (- plain_covariance n logits score) /\
  (forall baseline : R, (forall a, (a < n)%nat -> score_step n logits (fun b => softmax n logits b * (score b - baseline)) a = score_step n logits (fun b => softmax n logits b * score b) a)) /\
  ((0 <= smallest n (fun a => smallest n (fun b => (score a - score b) * (logits a - logits b)))) -> 0 <= plain_covariance n logits score) /\
  ((0 <= smallest n (fun a => smallest n (fun b => (- score a - - score b) * (logits a - logits b)))) -> plain_covariance n logits score <= 0).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (score : vector),
  (2 <= n)%nat.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (score : vector),
  (2 <= n)%nat /\
  (0 <= smallest n (fun a => smallest n (fun b => (score a - score b) * (logits a - logits b)))).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (score : vector),
  (2 <= n)%nat /\
  (0 <= smallest n (fun a => smallest n (fun b => (- score a - - score b) * (logits a - logits b)))).
