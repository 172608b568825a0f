(* Generated from the formula of the claim later-work.quantile-baseline (QAE (arXiv 2509.22611), Section 4.3, Proposition 4.2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The first-order change of entropy: -Cov_pi(z, step). *)
Definition first_order (n : nat) (logits : vector) (step : vector) : R :=
  - covariance n (softmax n logits) logits step.

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

(** r - b, r = 1 on right answers. *)
Definition with_baseline (n : nat) (correct : mask) (baseline : R) : vector :=
  fun a => if correct a then 1 - baseline else - baseline.

(** -Cov_pi(log pi, pi A). *)
Definition printed_change (n : nat) (logits : vector) (advantage : vector) : R :=
  - covariance n (softmax n logits) (log_softmax n logits) (fun a => softmax n logits a * advantage a).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (baseline : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= baseline ->
  baseline <= 1 ->
  smallest n logits < largest n logits ->
  first_order n logits (score_step n logits (fun b => softmax n logits b * with_baseline n correct baseline b)) = printed_change n logits (with_baseline n correct (total_on n correct (softmax n logits))) /\
  (forall other : R, (forall a, (a < n)%nat -> score_step n logits (fun b => softmax n logits b * with_baseline n correct other b) a = score_step n logits (fun b => softmax n logits b * with_baseline n correct baseline b) a)) /\
  derivative (fun t => entropy n (fun a => logits a + t * score_step n logits (fun b => softmax n logits b * with_baseline n correct baseline b) a)) (0) (printed_change n logits (with_baseline n correct (total_on n correct (softmax n logits)))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (baseline : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 <= baseline /\
  baseline <= 1 /\
  smallest n logits < largest n logits.
