(** How fast the mean of c moves with the inverse temperature b, for logits of a range R <= 1: c then increases with
    the logit, so that h(b) = E_b c has the slope Cov_b(z, c), a sum of nonnegative pairs, each of which changes by
    a factor of at most e^{2 R |b - 1|}. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Tilt TemperedReinforce OwnCovariance.
Open Scope R_scope.

Section Range.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let c := own_covariance n z.
Let width := largest n z - smallest n z.
Let scaled b : vector := fun a => b * z a.
Let p b : vector := softmax n (scaled b).
Let h b := mean n (p b) c.
Let slope b := covariance n (p b) z c.

Lemma range_nonneg : 0 <= width.
Proof. pose proof (largest_ge n z 0 some); pose proof (smallest_le n z 0 some); unfold width; lra. Qed.

Lemma softmax_nonneg y a : 0 <= softmax n y a.
Proof. apply Rlt_le, softmax_pos, some. Qed.

(** e^d (1 - d) <= 1 *)
Lemma exp_times_complement d : exp d * (1 - d) <= 1.
Proof.
  pose proof (exp_pos d) as positive.
  assert (1 - d <= exp (- d)) as line.
  { destruct (Req_dec d 0) as [->|other]; [rewrite Ropp_0, exp_0; lra|].
    pose proof (exp_ineq1 (- d) ltac:(lra)); lra. }
  assert (exp d * exp (- d) = 1) as one by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  nra.
Qed.

Lemma own_covariance_increases :
  width <= 1 ->
  forall a b, (a < n)%nat -> (b < n)%nat -> z b <= z a -> c b <= c a.
Proof.
  intros narrow a b a_inside b_inside below.
  assert (-1 <= z b - mean n (softmax n z) z) as close.
  { pose proof (mean_le_largest n (softmax n z) z (fun a _ => softmax_nonneg z a) (softmax_sum n z some)).
    pose proof (smallest_le n z b b_inside); unfold width in narrow; lra. }
  unfold c, own_covariance, centered.
  set (m := mean n (softmax n z) z) in *.
  set (d := z a - z b).
  assert (softmax n z a = softmax n z b * exp d) as ratio.
  { unfold softmax, d; replace (z a) with (z b + (z a - z b)) at 1 by ring.
    rewrite exp_plus; pose proof (normalizer_pos n z some); field; lra. }
  rewrite ratio.
  replace (z a - m) with (z b - m + d) by (unfold d; ring).
  enough (z b - m <= exp d * (z b - m + d)) as unweighted.
  { rewrite Rmult_assoc; apply Rmult_le_compat_l; [apply softmax_nonneg|assumption]. }
  pose proof (exp_times_complement d) as complement.
  assert (1 <= exp d).
  { rewrite <- exp_0; apply exp_nondecreasing; unfold d; lra. }
  nra.
Qed.

Lemma ordered_pairs :
  width <= 1 ->
  forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= (z a - z b) * (c a - c b).
Proof.
  intros narrow a b a_inside b_inside.
  destruct (Rle_or_lt (z b) (z a)) as [below|above].
  - pose proof (own_covariance_increases narrow a b a_inside b_inside below); nra.
  - pose proof (own_covariance_increases narrow b a b_inside a_inside ltac:(lra)); nra.
Qed.

Lemma slope_nonneg b : width <= 1 -> 0 <= slope b.
Proof.
  intros narrow; apply covariance_nonneg_ordered.
  - apply softmax_sum, some.
  - intros; apply softmax_nonneg.
  - apply ordered_pairs, narrow.
Qed.

(** A higher b multiplies a probability by at least e^{-R (b' - b)}. *)
Lemma probability_keeps b b' a :
  (a < n)%nat -> b <= b' -> exp (- (width * (b' - b))) * p b a <= p b' a.
Proof.
  intros inside above; unfold p, scaled, softmax.
  pose proof (normalizer_pos n (fun a => b * z a) some) as at_b; simpl in at_b.
  pose proof (normalizer_pos n (fun a => b' * z a) some) as at_b'; simpl in at_b'.
  assert (sum n (fun k => exp (b' * z k)) <= exp ((b' - b) * largest n z) * sum n (fun k => exp (b * z k)))
    as normalizers.
  { rewrite <- sum_scal; apply sum_le; intros k k_inside.
    rewrite <- exp_plus; apply exp_nondecreasing.
    pose proof (largest_ge n z k k_inside); nra. }
  assert (exp (- (width * (b' - b))) * exp (b * z a) * exp ((b' - b) * largest n z) <= exp (b' * z a)) as numerators.
  { rewrite <- !exp_plus; apply exp_nondecreasing.
    pose proof (smallest_le n z a inside); unfold width; nra. }
  apply (Rmult_le_reg_r (sum n (fun k => exp (b' * z k)))); [assumption|].
  replace (exp (b' * z a) / sum n (fun k => exp (b' * z k)) * sum n (fun k => exp (b' * z k)))
    with (exp (b' * z a)) by (field; lra).
  apply Rle_trans with (2 := numerators).
  replace (exp (- (width * (b' - b))) * (exp (b * z a) / sum n (fun k => exp (b * z k)))
           * sum n (fun k => exp (b' * z k)))
    with (exp (- (width * (b' - b))) * exp (b * z a)
          * (sum n (fun k => exp (b' * z k)) / sum n (fun k => exp (b * z k)))) by (field; lra).
  apply Rmult_le_compat_l; [apply Rmult_le_pos; apply Rlt_le, exp_pos|].
  apply (Rmult_le_reg_r (sum n (fun k => exp (b * z k)))); [assumption|].
  replace (sum n (fun k => exp (b' * z k)) / sum n (fun k => exp (b * z k)) * sum n (fun k => exp (b * z k)))
    with (sum n (fun k => exp (b' * z k))) by (field; lra).
  exact normalizers.
Qed.

(** So the slope falls at most by the square of that. *)
Lemma slope_keeps b b' :
  width <= 1 -> b <= b' -> exp (- (2 * width * (b' - b))) * slope b <= slope b'.
Proof.
  intros narrow above.
  apply (Rmult_le_reg_l 2); [lra|]; unfold slope.
  replace (2 * (exp (- (2 * width * (b' - b))) * covariance n (p b) z c))
    with (exp (- (2 * width * (b' - b))) * (2 * covariance n (p b) z c)) by ring.
  rewrite !covariance_pairs by (apply softmax_sum, some).
  rewrite <- sum_scal; apply sum_le; intros a a_inside.
  rewrite <- sum_scal; apply sum_le; intros k k_inside.
  replace (exp (- (2 * width * (b' - b)))) with (exp (- (width * (b' - b))) * exp (- (width * (b' - b))))
    by (rewrite <- exp_plus; f_equal; ring).
  pose proof (probability_keeps b b' a a_inside above) as first.
  pose proof (probability_keeps b b' k k_inside above) as second.
  pose proof (ordered_pairs narrow a k a_inside k_inside) as pair.
  pose proof (exp_pos (- (width * (b' - b)))) as factor.
  rewrite <- Rmult_assoc; apply Rmult_le_compat_r; [assumption|].
  apply Rle_trans with ((exp (- (width * (b' - b))) * p b a) * (exp (- (width * (b' - b))) * p b k)); [lra|].
  apply Rmult_le_compat; [apply Rmult_le_pos; [lra|apply softmax_nonneg]
                         |apply Rmult_le_pos; [lra|apply softmax_nonneg]|assumption|assumption].
Qed.

Lemma is_derive_h b : is_derive h b (slope b).
Proof.
  evar_last.
  - apply (is_derive_mean n scaled z b some
             (fun a _ => ltac:(unfold scaled; auto_derive; [exact I|ring])) (fun _ => c) (fun _ => 0)).
    intros; apply @is_derive_const.
  - unfold slope, p; rewrite (mean_const n _ 0) by (apply softmax_sum, some); ring.
Qed.

(** 2 R (h(1) - h(b)) <= h'(1) (e^{2 R (1 - b)} - 1), on either side of b = 1. *)
Lemma mean_moves b :
  width <= 1 -> 2 * width * (h 1 - h b) <= slope 1 * (exp (2 * width * (1 - b)) - 1).
Proof.
  intros narrow.
  set (D := fun b => 2 * width * h b + slope 1 * exp (2 * width * (1 - b))).
  set (D' := fun b => 2 * width * (slope b - slope 1 * exp (2 * width * (1 - b)))).
  assert (forall t, derivable_pt_lim D t (D' t)) as moves.
  { intros t; apply is_derive_Reals; unfold D, D'.
    evar_last.
    - apply @is_derive_plus.
      + apply is_derive_scal, is_derive_h.
      + apply is_derive_scal with (k := slope 1) (f := fun b => exp (2 * width * (1 - b))).
        auto_derive; [exact I|reflexivity].
    - unfold plus; simpl; unfold Rminus; ring. }
  pose proof range_nonneg as nonneg.
  enough (D 1 <= D b) as least.
  { unfold D in least; replace (2 * width * (1 - 1)) with 0 in least by ring.
    rewrite exp_0 in least; nra. }
  destruct (Rtotal_order b 1) as [below|[->|above]]; [|lra|].
  - destruct (MVT_cor2 D D' b 1 below) as (t & change & between); [intros; apply moves|].
    assert (D' t <= 0); [|nra].
    pose proof (slope_keeps t 1 narrow ltac:(lra)) as keeps.
    assert (exp (2 * width * (1 - t)) * exp (- (2 * width * (1 - t))) = 1) as one
      by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    pose proof (exp_pos (2 * width * (1 - t))) as factor.
    assert (slope t <= slope 1 * exp (2 * width * (1 - t))).
    { replace (slope t) with (exp (2 * width * (1 - t)) * (exp (- (2 * width * (1 - t))) * slope t))
        by (rewrite <- Rmult_assoc, one; ring).
      rewrite (Rmult_comm (slope 1)); apply Rmult_le_compat_l; lra. }
    unfold D'; nra.
  - destruct (MVT_cor2 D D' 1 b above) as (t & change & between); [intros; apply moves|].
    assert (0 <= D' t); [|nra].
    pose proof (slope_keeps 1 t narrow ltac:(lra)) as keeps.
    replace (- (2 * width * (t - 1))) with (2 * width * (1 - t)) in keeps by ring.
    unfold D'; apply Rmult_le_pos; lra.
Qed.

(** If e^{2 R alpha} + e^{-2 R beta} <= 2, h moves by no more from 1 to 1 - alpha than from 1 to 1 + beta. *)
Lemma mean_moves_less alpha beta :
  width <= 1 -> exp (2 * width * alpha) + exp (- (2 * width) * beta) <= 2 ->
  2 * h 1 <= h (1 - alpha) + h (1 + beta).
Proof.
  intros narrow flat.
  pose proof range_nonneg as nonneg.
  pose proof (mean_moves (1 - alpha) narrow) as hot.
  pose proof (mean_moves (1 + beta) narrow) as cold.
  replace (2 * width * (1 - (1 - alpha))) with (2 * width * alpha) in hot by ring.
  replace (2 * width * (1 - (1 + beta))) with (- (2 * width) * beta) in cold by ring.
  pose proof (slope_nonneg 1 narrow) as growing.
  destruct nonneg as [positive|zero].
  - assert (2 * width * (2 * h 1 - h (1 - alpha) - h (1 + beta)) <= 0) by nra.
    nra.
  - assert (forall b, h b = h 1) as constant; [|rewrite (constant (1 - alpha)), (constant (1 + beta)); lra].
    intros b.
    assert (forall a, (a < n)%nat -> c a = c 0%nat) as same.
    { intros a inside.
      pose proof (largest_ge n z a inside); pose proof (smallest_le n z a inside).
      pose proof (largest_ge n z 0 some); pose proof (smallest_le n z 0 some).
      assert (z a = z 0%nat) as equal by (unfold width in zero; lra).
      unfold c, own_covariance, centered, softmax; rewrite equal; reflexivity. }
    unfold h; rewrite !(mean_ext n _ c (fun _ => c 0%nat)) by assumption.
    rewrite !mean_const by (apply softmax_sum, some); reflexivity.
Qed.

End Range.
