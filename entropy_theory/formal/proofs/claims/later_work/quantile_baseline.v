(** QAE (arXiv 2509.22611), Section 4.3: the baseline of an exact policy gradient drops out, so that the entropy
    change is - Cov(log pi, pi (r - E r)) for every baseline. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions OrderedRewards TokenLosses.
From Trusted.Statements.later_work Require quantile_baseline.
Open Scope R_scope.

Section OneState.

Variables (n : nat) (z : vector) (correct : mask).
Hypothesis some : (0 < n)%nat.

Definition less_baseline (b : R) : vector := fun a => if correct a then 1 - b else - b.

Lemma less_baseline_eq b a : less_baseline b a = indicator correct a - b.
Proof. unfold less_baseline, indicator; destruct (correct a); ring. Qed.

Lemma step b a :
  (a < n)%nat ->
  score_step n z (fun c => softmax n z c * less_baseline b c) a = positives_only n z correct a.
Proof.
  intros inside.
  rewrite (score_step_ext n z _ (fun c => softmax n z c * (indicator correct c - b))) by
    (exact inside || (intros; rewrite less_baseline_eq; reflexivity)).
  rewrite score_step_shift by exact some; apply score_step_indicator.
Qed.

Lemma change b :
  first_order n z (score_step n z (fun c => softmax n z c * less_baseline b c))
  = - covariance n (softmax n z) (log_softmax n z)
        (fun c => softmax n z c * less_baseline (total_on n correct (softmax n z)) c).
Proof.
  transitivity (- covariance n (softmax n z) (indicator correct) (own_covariance n z)).
  - rewrite <- first_order_of_scores by exact some; unfold first_order; f_equal.
    apply covariance_ext; intros a inside; [reflexivity|].
    rewrite step by exact inside; symmetry; apply score_step_indicator.
  - rewrite <- plain_covariance_eq by exact some; f_equal.
    apply covariance_ext; intros a _; [reflexivity|f_equal].
    rewrite less_baseline_eq; unfold centered; f_equal.
    apply sum_ext; intros c _; unfold indicator, only; destruct (correct c); ring.
Qed.

End OneState.

Theorem proved : Statements.later_work.quantile_baseline.repair.
Proof.
  intros n logits correct baseline two _ _ _ _; assert (some : (0 < n)%nat) by lia.
  split; [|split].
  - exact (change n logits correct some baseline).
  - intros other a inside.
    transitivity (positives_only n logits correct a).
    + exact (step n logits correct some other a inside).
    + symmetry; exact (step n logits correct some baseline a inside).
  - pose proof (first_order_is_derivative n logits
      (score_step n logits (fun c => softmax n logits c * less_baseline correct baseline c)) some) as found.
    rewrite (change n logits correct some baseline) in found; exact found.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.quantile_baseline.witness.
Proof. exists 2%nat, one_to_two, (fun a => Nat.eqb a 1), 1; witnessed. Qed.
