(** When the probability outside a set of actions vanishes along a sequence of policies, limsup H <= log m with m
    the number of actions in the set; and H tends to log m if the logits of these tend to a tie. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Groups Monotone Conditional RightAnswers.
Open Scope R_scope.

Section Concentration.

Variables (n : nat) (A : mask) (z : nat -> vector).
Hypothesis some : nonempty n A.

Let m := count_on n A.
Let missed (k : nat) := total_on n (complement A) (softmax n (z k)).
Hypothesis vanishes : tends_to missed 0.

Theorem limsup_of_mass : limsup_at_most (fun k => entropy n (z k)) (ln m).
Proof.
  destruct (classic (nonempty n (complement A))) as [wrong|none].
  2: { intros e e_pos; exists 0%nat; intros k _.
    pose proof (entropy_at_most_log n (z k) (nonempty_inhabited n A some)) as bound.
    assert (INR n = m) as <-; [|lra].
    rewrite <- (count_on_complement n A); fold m.
    replace (count_on n (complement A)) with 0; [ring|].
    symmetry; unfold count_on; rewrite <- (Rmult_0_r (count_on n (complement A))), <- total_on_const.
    apply total_on_ext; intros a inside chosen; exfalso; apply none; exists a; auto. }
  intros e e_pos.
  set (others := count_on n (complement A)).
  set (slope := 3 + Rabs (ln (others / m))).
  assert (0 < slope) as slope_pos by (pose proof (Rabs_pos (ln (others / m))); unfold slope; lra).
  set (small := (e / slope) * (e / slope)).
  pose proof (Rdiv_lt_0_compat _ _ e_pos slope_pos) as ratio_pos.
  assert (0 < small) as small_pos by (apply Rmult_lt_0_compat; assumption).
  destruct (vanishes small small_pos) as (N & close).
  exists N; intros k later; specialize (close k later).
  pose proof (wrong_mass_pos n (z k) A some wrong) as missing; fold (missed k) in missing.
  pose proof (right_mass_pos n (z k) A some) as hit.
  pose proof (masses_sum n (z k) A some) as one; fold (missed k) in one.
  rewrite Rminus_0_r, Rabs_pos_eq in close by lra.
  assert (sqrt (missed k) < e / slope) as root.
  { rewrite <- (sqrt_square (e / slope)) by lra; apply sqrt_lt_1; unfold small in close; lra. }
  assert (missed k <= sqrt (missed k)) as below_root.
  { rewrite <- (sqrt_sqrt (missed k)) at 1 by lra.
    rewrite <- (Rmult_1_r (sqrt (missed k))) at 3.
    apply Rmult_le_compat_l; [apply sqrt_pos|].
    rewrite <- sqrt_1; apply sqrt_le_1; lra. }
  apply Rle_lt_trans with (1 := entropy_at_most_widest_entropy n (z k) A some wrong).
  fold m others; fold (missed k).
  apply Rle_lt_trans with (1 := widest_entropy_small m others (missed k) missing ltac:(lra)).
  assert (missed k * Rabs (ln (others / m)) <= sqrt (missed k) * Rabs (ln (others / m)))
    by (apply Rmult_le_compat_r; [apply Rabs_pos|assumption]).
  assert (sqrt (missed k) * slope < e) as total.
  { apply Rlt_le_trans with (e / slope * slope); [apply Rmult_lt_compat_r; assumption|].
    right; field; lra. }
  unfold slope in total; lra.
Qed.

Theorem entropy_tends_to_log_count :
  tends_to (fun k => range_on n A (z k)) 0 -> tends_to (fun k => entropy n (z k)) (ln m).
Proof.
  intros ties e e_pos.
  destruct (limsup_of_mass e e_pos) as (N1 & upper).
  pose proof (count_on_ge_1 n A some) as m_large; fold m in m_large.
  pose proof (ln_nonneg m m_large) as log_nonneg.
  destruct (ties (e / 2) ltac:(lra)) as (N2 & narrow).
  destruct (vanishes (e / 2 / (ln m + 1))) as (N3 & learned); [apply Rdiv_lt_0_compat; lra|].
  exists (max N1 (max N2 N3)); intros k later; apply Rabs_def1.
  - specialize (upper k ltac:(lia)); simpl in upper; lra.
  - specialize (narrow k ltac:(lia)); specialize (learned k ltac:(lia)).
    pose proof (range_nonneg n A some (z k)).
    assert (0 <= missed k).
    { apply total_on_nonneg; intros; apply Rlt_le, softmax_pos, (nonempty_inhabited n A some). }
    pose proof (masses_sum n (z k) A some) as one; fold (missed k) in one.
    pose proof (right_mass_pos n (z k) A some) as hit.
    rewrite Rminus_0_r, Rabs_pos_eq in narrow by lra.
    rewrite Rminus_0_r, Rabs_pos_eq in learned by lra.
    pose proof (entropy_at_least_near n (z k) A some) as lower; fold m in lower.
    replace (total_on n A (softmax n (z k))) with (1 - missed k) in lower by lra.
    assert (missed k * ln m < e / 2).
    { apply Rle_lt_trans with (missed k * (ln m + 1)); [apply Rmult_le_compat_l; lra|].
      apply Rmult_lt_compat_r with (r := ln m + 1) in learned; [|lra].
      replace (e / 2 / (ln m + 1) * (ln m + 1)) with (e / 2) in learned by (field; lra); lra. }
    assert (0 <= missed k * range_on n A (z k)) by (apply Rmult_le_pos; lra).
    lra.
Qed.

End Concentration.
