(* Generated from the formula of the claim later-work.stare-reweighting (STARE (arXiv 2606.19236), the weight W of surprising tokens). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Right answers of at most this probability. *)
Definition reweighted (n : nat) (logits : vector) (correct : mask) (level : R) : mask :=
  fun a => andb (correct a) (negb (less level (softmax n logits a))).

(** log pi_a + H = z_a - E z. *)
Definition relative_log_prob (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) logits.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** The rate of entropy per unit of weight on these right answers: -sum of pi_a (c_a - C). *)
Definition raised (n : nat) (logits : vector) (selected : mask) : R :=
  - total_on n selected (fun a => softmax n logits a * excess n logits a).

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (level : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= level ->
  level <= 1 ->
  (exists a, (a < n)%nat /\ (reweighted n logits correct level a = true)) ->
  (~ (exists a, (a < n)%nat /\ ((reweighted n logits correct level a = true) /\ (~ (relative_log_prob n logits a < 0))))) ->
  0 < raised n logits (reweighted n logits correct level) /\
  derivative (fun t => entropy n (fun a => logits a + t * score_step n logits (fun b => softmax n logits b * (if reweighted n logits correct level b then 1 else 0)) a)) (0) (raised n logits (reweighted n logits correct level)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (level : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 <= level /\
  level <= 1 /\
  (exists a, (a < n)%nat /\ (reweighted n logits correct level a = true)) /\
  (~ (exists a, (a < n)%nat /\ ((reweighted n logits correct level a = true) /\ (~ (relative_log_prob n logits a < 0))))).
