(* Generated from the formula of the claim entropy-mechanism.kl-cov-npg (Entropy Mechanism, KL-Cov (Eqs. 13, 14) as coded, with Theorem 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The policy that tokens were sampled from: the logits have drifted since. *)
Definition old_policy (n : nat) (logits : vector) (drift : vector) : vector :=
  softmax n (fun b => logits b - drift b).

(** r - E_old r. *)
Definition old_advantage (n : nat) (logits : vector) (drift : vector) (reward : vector) : vector :=
  fun a => reward a - mean n (old_policy n logits drift) reward.

(** Actions with K >= omega_low; a rank is a threshold. *)
Definition selected (n : nat) (logits : vector) (drift : vector) (reward : vector) (lower : R) : mask :=
  fun a => negb (less ((logits a - mean n (old_policy n logits drift) logits) * old_advantage n logits drift reward a) lower).

(** The first-order change of entropy: -Cov_pi(z, step). *)
Definition first_order (n : nat) (logits : vector) (step : vector) : R :=
  - covariance n (softmax n logits) logits step.

(** log(pi / pi_old). *)
Definition log_ratio (n : nat) (logits : vector) (drift : vector) : vector :=
  fun a => log_softmax n logits a - log_softmax n (fun b => logits b - drift b) a.

(** The weighted score of |log r|: its slope in log pi is the sign of log r. *)
Definition penalty_score (n : nat) (logits : vector) (drift : vector) : vector :=
  fun a => - sign_of (log_ratio n logits drift a) * old_policy n logits drift a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (drift : vector) (reward : vector) (lower : R),
  (2 <= n)%nat ->
  0 < lower ->
  (exists a, (a < n)%nat /\ (selected n logits drift reward lower a = true)) ->
  0 <= first_order n logits (fun a => (if selected n logits drift reward lower a then penalty_score n logits drift a else 0) / softmax n logits a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (drift : vector) (reward : vector) (lower : R),
  (2 <= n)%nat ->
  0 < lower ->
  (exists a, (a < n)%nat /\ (selected n logits drift reward lower a = true)) ->
  (forall a, (a < n)%nat -> softmax n logits a <> 0).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
