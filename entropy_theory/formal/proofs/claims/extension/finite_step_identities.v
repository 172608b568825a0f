(** Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6: what a logit step does to entropy exactly, whatever its
    size. pi' = softmax(z + d), w = pi'/pi, pi_t = softmax(z + t d). *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Curvature EntropyChange.
From Trusted.Statements.extension Require finite_step_identities.
Open Scope R_scope.

(** E3: the change is the integral of its slope, and the divergence that of t times a variance. *)
Theorem integrals :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  is_RInt (fun t => - covariance n (softmax n (line logits step t)) (log_softmax n (line logits step t)) step) 0 1
    (entropy_change n logits step)
  /\
  is_RInt (fun t => t * covariance n (softmax n (line logits step t)) step step) 0 1
    (divergence n (moved_by logits step) logits).
Proof. intros; split; [apply exact_change_3|apply divergence_integral]; lia. Qed.

(** The divergence only lowers entropy. *)
Theorem divergence_pushes_down :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  0 <= divergence n (moved_by logits step) logits
  /\ entropy_change n logits step
     <= - covariance n (softmax n logits) (ratio n logits step) (log_softmax n logits).
Proof.
  intros; split; [apply divergence_nonneg; lia|apply change_below_covariance_with_ratio; lia].
Qed.

(** E1 and E2; E3 as the slopes at every t, and the sign of the divergence. *)
Theorem proved : Statements.extension.finite_step_identities.statement.
Proof.
  intros n logits step many; split; [split|split; [|split]].
  - change (entropy_change n logits step + covariance n (softmax n logits) (ratio n logits step) logits
            + divergence n (moved_by logits step) logits = 0).
    rewrite exact_change_1 by lia.
    rewrite (covariance_sym n _ (ratio n logits step) (log_softmax n logits)).
    rewrite covariance_log_softmax by (try apply softmax_sum; lia).
    rewrite (covariance_sym n _ logits); ring.
  - rewrite exact_change_2 by lia; unfold divergence, moved_by; ring.
  - intros t; apply is_derive_Reals, is_derive_entropy_along_line; lia.
  - intros t; apply is_derive_Reals, is_derive_divergence_line; lia.
  - apply divergence_nonneg; lia.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.finite_step_identities.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require finite_step_identities.
From Trusted.Conditions.extension Require finite_step_identities.

Theorem integrals_witness : Conditions.extension.finite_step_identities.integrals_witness.
Proof. exists 1%nat; met. Qed.

Theorem divergence_pushes_down_witness : Conditions.extension.finite_step_identities.divergence_pushes_down_witness.
Proof. exists 1%nat; met. Qed.
