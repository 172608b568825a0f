(* Generated from the formula of the claim later-work.entropic (EntroPIC (arXiv 2511.15248), the weights of positive and negative samples). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Tokens whose probability is at least the threshold. *)
Definition likely (n : nat) (logits : vector) (threshold : R) : mask :=
  fun a => negb (less (softmax n logits a) threshold).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** The rate of entropy per unit of alpha: -sum over likely tokens of pi_a (c_a - C). *)
Definition lever (n : nat) (logits : vector) (threshold : R) : R :=
  - total_on n (likely n logits threshold) (fun a => softmax n logits a * excess n logits a).

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (threshold : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= threshold ->
  threshold <= 1 ->
  0 <= - lever n logits threshold /\
  (forall alpha : R, (forall a, (a < n)%nat -> score_step n logits (fun b => softmax n logits b * ((if correct b then 1 else - 1) + alpha)) a = score_step n logits (fun b => softmax n logits b * (if correct b then 1 else - 1)) a)) /\
  derivative (fun t => entropy n (fun a => logits a + t * score_step n logits (fun b => softmax n logits b * (if likely n logits threshold b then 1 else 0)) a)) (0) (lever n logits threshold).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (threshold : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 <= threshold /\
  threshold <= 1.
