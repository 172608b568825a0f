(** REPO (arXiv 2603.11682), Theorem 2: a policy whose ratios are within [1 - eps_low, 1 + eps_high] has an entropy
    within the same relative bounds.

    pi' - (1 - eps_low) pi and (1 + eps_high) pi - pi' are not negative, logarithms of probabilities are not positive,
    and a cross entropy is at least the entropy. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus EntropyChange Masks.
From Trusted.Statements.later_work Require ratio_band.
Open Scope R_scope.

Lemma log_softmax_nonpos n z a : (a < n)%nat -> log_softmax n z a <= 0.
Proof.
  intros inside; assert (some : (0 < n)%nat) by lia; pose proof (softmax_pos n z a some).
  pose proof (softmax_le_1 n z a inside); unfold log_softmax; rewrite <- ln_1.
  destruct (Req_dec (softmax n z a) 1) as [->|other]; [lra|apply Rlt_le, ln_increasing; lra].
Qed.

(** The cross entropy of two policies is at least the entropy of the first. *)
Lemma cross_entropy n from to :
  (0 < n)%nat -> entropy n from <= - mean n (softmax n from) (log_softmax n to).
Proof.
  intros some; pose proof (divergence_nonneg n to some from) as positive.
  unfold divergence in positive; rewrite mean_minus in positive; rewrite entropy_log; lra.
Qed.

Lemma above n old new c :
  (0 < n)%nat -> 0 <= c -> (forall a, (a < n)%nat -> c * softmax n old a <= softmax n new a) ->
  c * entropy n old <= entropy n new.
Proof.
  intros some nonneg each.
  apply Rle_trans with (c * - mean n (softmax n old) (log_softmax n new)).
  - apply Rmult_le_compat_l; [exact nonneg|apply cross_entropy, some].
  - rewrite entropy_log, <- Ropp_mult_distr_r; apply Ropp_le_contravar.
    unfold mean; rewrite <- sum_scal; apply sum_le; intros a inside.
    pose proof (log_softmax_nonpos n new a inside); pose proof (each a inside); nra.
Qed.

Lemma below n old new c :
  (0 < n)%nat -> (forall a, (a < n)%nat -> softmax n new a <= c * softmax n old a) ->
  entropy n new <= c * entropy n old.
Proof.
  intros some each; apply Rle_trans with (- mean n (softmax n new) (log_softmax n old)).
  - apply cross_entropy, some.
  - rewrite (entropy_log n old), <- Ropp_mult_distr_r; apply Ropp_le_contravar.
    unfold mean; rewrite <- sum_scal; apply sum_le; intros a inside.
    pose proof (log_softmax_nonpos n old a inside); pose proof (each a inside); nra.
Qed.

Theorem proved : Statements.later_work.ratio_band.statement.
Proof.
  intros n logits drift clip_low clip_high two _ at_most _ low high; assert (some : (0 < n)%nat) by lia.
  set (old := fun a => logits a - drift a).
  assert (ratio : forall a, softmax n logits a
                            = Statements.later_work.ratio_band.ratio n logits drift a * softmax n old a).
  { intros a; unfold Statements.later_work.ratio_band.ratio; fold old.
    pose proof (softmax_pos n old a some); field; lra. }
  split.
  - apply above; [exact some|lra|]; intros a inside; rewrite ratio.
    pose proof (smallest_le n (Statements.later_work.ratio_band.ratio n logits drift) a inside).
    apply Rmult_le_compat_r; [apply Rlt_le, softmax_pos, some|lra].
  - apply below; [exact some|]; intros a inside; rewrite ratio.
    pose proof (largest_ge n (Statements.later_work.ratio_band.ratio n logits drift) a inside).
    apply Rmult_le_compat_r; [apply Rlt_le, softmax_pos, some|lra].
Qed.

From PolicyEntropy.library Require Import Domains Witnesses.

Theorem witness : Statements.later_work.ratio_band.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), 1, 1; witnessed. Qed.

Theorem defined : Statements.later_work.ratio_band.defined.
Proof. domains. Qed.
