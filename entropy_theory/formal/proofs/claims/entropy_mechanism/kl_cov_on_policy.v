(** Entropy Mechanism, KL-Cov (Eqs. 13, 14), strictly on-policy: with one update per rollout the policy is
    the one that tokens were sampled from, up to a shift of its logits. There the gradient of the penalty
    KL(pi_old || pi) is zero, so that KL-Cov is its base rule. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons Contributions Growth.
From Trusted.Statements.entropy_mechanism Require kl_cov_on_policy.
Open Scope R_scope.

Definition divergence_to (n : nat) (old logits : vector) : R :=
  sum n (fun a => old a * (ln (old a) - log_softmax n logits a)).

(** The logit step of minus the weight times the divergence is the weight times (pi_old - pi): along every
    direction v this is the slope. *)
Lemma slope_of_divergence n old logits v :
  (0 < n)%nat -> sum n old = 1 ->
  derivative (fun t => divergence_to n old (fun a => logits a + t * v a)) 0
    (- sum n (fun a => (old a - softmax n logits a) * v a)).
Proof.
  intros some one; apply derivative_of_is_derive; unfold divergence_to; evar_last.
  - apply (is_derive_sum n
      (fun t a => old a * (ln (old a) - log_softmax n (fun b => logits b + t * v b) a))
      (fun a => old a * - centered n (softmax n (fun b => logits b + 0 * v b)) v a)).
    intros a inside.
    apply (is_derive_scal (fun t => ln (old a) - log_softmax n (fun b => logits b + t * v b) a)).
    evar_last.
    + apply @is_derive_minus; [apply @is_derive_const|].
      apply (is_derive_log_softmax n (fun t b => logits b + t * v b) v 0 some);
        [intros; apply is_derive_line|exact inside].
    + unfold minus, plus, opp, zero; simpl; ring.
  - assert (same : forall b, (b < n)%nat ->
              softmax n (fun c => logits c + 0 * v c) b = softmax n logits b)
      by (intros; apply softmax_ext; [intros; ring|assumption]).
    unfold centered, mean.
    rewrite (sum_ext n (fun b => softmax n (fun c => logits c + 0 * v c) b * v b)
               (fun b => softmax n logits b * v b)) by (intros; rewrite same; auto).
    set (average := sum n (fun b => softmax n logits b * v b)).
    transitivity (average * sum n old - sum n (fun a => old a * v a)).
    + rewrite <- sum_scal, <- sum_minus; apply sum_ext; intros; ring.
    + rewrite one; unfold average; rewrite Rmult_1_r, <- sum_minus, <- sum_opp.
      apply sum_ext; intros; ring.
Qed.


(** From the sampling policy on, the divergence has slope zero in every direction. *)
Lemma no_slope :
  forall (n : nat) (logits v : vector),
  (2 <= n)%nat ->
  derivative (fun t => divergence_to n (softmax n logits) (fun a => logits a + t * v a)) 0 0.
Proof.
  intros n logits v two.
  replace 0 with (- sum n (fun a => (softmax n logits a - softmax n logits a) * v a)) at 2.
  - apply slope_of_divergence; [lia|apply softmax_sum; lia].
  - rewrite (sum_ext n _ (fun _ => 0)) by (intros; ring); rewrite sum_zero; ring.
Qed.

Theorem proved : Statements.entropy_mechanism.kl_cov_on_policy.statement.
Proof.
  intros n logits reward lower shift two _ _; split.
  - intros a inside; rewrite softmax_shift by lia; ring.
  - intros direction; apply (no_slope n logits direction two).
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.kl_cov_on_policy.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (1 / 64), 1; witnessed. Qed.
