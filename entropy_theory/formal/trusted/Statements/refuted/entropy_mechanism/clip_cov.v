(* Generated from the formula of the claim entropy-mechanism.clip-cov (Entropy Mechanism, Clip-Cov (Eqs. 10-12)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** log pi_a + H = z_a - E z. *)
Definition relative_log_prob (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) logits.

(** A = r - E r. *)
Definition advantage (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => reward a - mean n (softmax n logits) reward.

(** K_a = (log pi_a - E log pi)(A_a - E A). *)
Definition token_covariance (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => relative_log_prob n logits a * advantage n logits reward a.

(** What Clip-Cov selects from: omega_low <= K_a <= omega_high = 5 omega_low. *)
Definition in_band (n : nat) (logits : vector) (reward : vector) (lower : R) : mask :=
  fun a => andb (negb (less (token_covariance n logits reward a) lower)) (negb (less (5 * lower) (token_covariance n logits reward a))).

(** The first-order change of entropy: -Cov_pi(z, step). *)
Definition first_order (n : nat) (logits : vector) (step : vector) : R :=
  - covariance n (softmax n logits) logits step.

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

(** What Clip-Cov adds to policy gradient at first order: the selected scores pi A are taken away. *)
Definition zeroing_gain (n : nat) (logits : vector) (reward : vector) (lower : R) : R :=
  first_order n logits (score_step n logits (fun b => - (if in_band n logits reward lower b then softmax n logits b * advantage n logits reward b else 0))).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (lower : R),
  (2 <= n)%nat ->
  0 < lower ->
  (exists a, (a < n)%nat /\ (in_band n logits reward lower a = true)) ->
  0 <= zeroing_gain n logits reward lower.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
