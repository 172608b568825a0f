(** Extension of AEPO, Theorem 4.3: weights on the tokens of a step move its first order of entropy by at most their
    mean distance from 1, times the largest advantage and E|log pi + H|. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature EntropyChange SamplerMismatch.
From Trusted.Statements.extension Require weighted_signal.
Open Scope R_scope.

Theorem proved : Statements.extension.weighted_signal.statement.
Proof.
  intros n z w A two; assert (0 < n)%nat as some by lia; split.
  - change (Statements.extension.weighted_signal.surprise_spread n z) with (spread n z).
    change (Statements.extension.weighted_signal.weighting_bias n z w A)
      with (covariance n (softmax n z) z
              (fun a => softmax n z a * centered n (softmax n z) (fun b => w b * A b) a)
            - covariance n (softmax n z) z (fun a => softmax n z a * centered n (softmax n z) A a)).
    rewrite fall_weighted by exact some.
    set (B := largest n (fun a => Rabs (A a))); set (M := largest n (fun a => Rabs (w a - 1))).
    assert (forall a, (a < n)%nat -> Rabs (A a) <= B) as most
      by (intros; apply (largest_ge n (fun b => Rabs (A b))); assumption).
    assert (forall a, (a < n)%nat -> Rabs (w a - 1) <= M) as far
      by (intros; apply (largest_ge n (fun b => Rabs (w b - 1))); assumption).
    pose proof (bias_by_mean n z some (fun a => (w a - 1) * A a)) as by_mean.
    pose proof (bias_by_largest n z some (fun a => (w a - 1) * A a) (M * B)) as by_largest.
    assert (mean n (softmax n z) (fun a => Rabs ((w a - 1) * A a)) * spread n z
            <= mean n (softmax n z) (fun a => Rabs (w a - 1)) * B * spread n z) as wider.
    { apply Rmult_le_compat_r; [apply spread_nonneg, some|].
      rewrite <- mean_scal_r; apply mean_le; intros a inside; [apply Rlt_le, softmax_pos, some|].
      rewrite Rabs_mult; apply Rmult_le_compat_l; [apply Rabs_pos|apply most, inside]. }
    specialize (by_largest ltac:(intros a inside; cbv beta; rewrite Rabs_mult; apply Rmult_le_compat;
      auto using Rabs_pos)).
    cbv beta in by_mean, by_largest.
    destruct (both_signs _ _ (Rle_trans _ _ _ by_mean wider)), (both_signs _ _ by_largest).
    repeat split; try assumption; apply spread_by_entropy, some.
  - set (d := Statements.extension.weighted_signal.reweighted_step n z (fun a => w a * A a)).
    apply is_derive_Reals; evar_last; [apply (is_derive_entropy_along_line n z d some)|].
    unfold Statements.extension.weighted_signal.fall; fold d; f_equal.
    rewrite covariance_log_softmax by (exact some || apply softmax_sum, some).
    transitivity (covariance n (softmax n (line z d 0)) z d).
    + apply covariance_ext; intros a _; unfold line; ring.
    + apply covariance_ext_p; intros; apply softmax_ext; [intros; apply line_start|assumption].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.weighted_signal.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); witnessed. Qed.
