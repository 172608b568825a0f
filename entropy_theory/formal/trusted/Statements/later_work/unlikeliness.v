(* Generated from the formula of the claim later-work.unlikeliness (Unlikeliness reward (arXiv 2506.02355)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The least likely correct logit minus the largest wrong one. *)
Definition correct_above (n : nat) (logits : vector) (correct : mask) : R :=
  smallest_on n correct logits - largest_on n (fun a => negb (correct a)) logits.

(** g_a, the probability of an answer that is less likely than a. *)
Definition less_likely (n : nat) (logits : vector) : vector :=
  fun a => sum n (fun b => if less (logits b) (logits a) then softmax n logits b else 0).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** The rate of entropy per unit of beta: sum over right answers of pi_a g_a (c_a - C). *)
Definition gained (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => softmax n logits a * less_likely n logits a * excess n logits a).

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

(** The part of the reward that is taken away per unit of beta: g_a on right answers. *)
Definition penalty (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then less_likely n logits a else 0.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= (if negb (some_on n (complement correct)) then 0 else correct_above n logits correct) ->
  0 <= gained n logits correct /\
  derivative (fun t => entropy n (fun a => logits a + t * - score_step n logits (fun b => softmax n logits b * penalty n logits correct b) a)) (0) (gained n logits correct).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 <= (if negb (some_on n (complement correct)) then 0 else correct_above n logits correct).
