(* Generated from the formula of the claim entropy-mechanism.clip-cov-npg (Entropy Mechanism, Clip-Cov (Eqs. 10-12), with Theorem 2). *)

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

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (lower : R),
  (2 <= n)%nat ->
  0 < lower ->
  (exists a, (a < n)%nat /\ (in_band n logits reward lower a = true)) ->
  0 < first_order n logits (fun a => - (if in_band n logits reward lower a then advantage n logits reward a else 0)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (lower : R),
  (2 <= n)%nat /\
  0 < lower /\
  (exists a, (a < n)%nat /\ (in_band n logits reward lower a = true)).
