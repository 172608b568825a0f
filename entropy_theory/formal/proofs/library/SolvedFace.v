(** The solved face: all n answers right, the step of tempered REINFORCE is eta (q^T - q), with eta <= 2.

    Two logits that differ by D move apart or together by at most (eta/2) max(1, 1/T) D, so that no order
    changes; the range of the logits falls for T > 1 and grows for T < 1, strictly unless q is uniform. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional
  RightAnswers Learning.
Open Scope R_scope.

Definition all_actions : mask := fun _ => true.
(** q^T - q *)
Definition face_step (n : nat) (z : vector) (T : R) : vector :=
  fun a => softmax n (tempered T z) a - softmax n z a.
(** F(T) on the solved face. *)
Definition face_rate (n : nat) (z : vector) (T : R) : R := rate n z all_actions T.

Lemma all_everything n : everything n all_actions.
Proof. intros a _; reflexivity. Qed.

Lemma all_some n : (0 < n)%nat -> nonempty n all_actions.
Proof. intros some; exists 0%nat; auto. Qed.

Lemma conditional_everything n A z a :
  everything n A -> (a < n)%nat -> conditional n z A a = softmax n z a.
Proof.
  intros all inside; unfold conditional, softmax.
  rewrite total_on_everything by assumption; rewrite only_in by (apply all; assumption); reflexivity.
Qed.

Lemma rate_everything n z A T : everything n A -> rate n z A T = conditional_rate n z A T.
Proof.
  intros all; unfold rate, conditional_rate; f_equal.
  apply total_on_ext; intros a inside _.
  rewrite conditional_everything by assumption; f_equal.
  assert (forall f, mean n (conditional n z A) f = mean n (softmax n z) f) as same.
  { intros f; apply sum_ext; intros b b_inside; rewrite conditional_everything by assumption; reflexivity. }
  unfold excess, own_covariance, centered; rewrite !same.
  rewrite conditional_everything by assumption; f_equal.
  apply mean_ext; intros b b_inside; rewrite conditional_everything by assumption; reflexivity.
Qed.

Lemma face_step_eq n z T a : (0 < n)%nat -> face_step n z T a = softmax n (tempered T z) a - softmax n z a.
Proof. reflexivity. Qed.

(** It is the step of tempered REINFORCE. *)
Lemma face_step_is_unit_step n z T a : (0 < n)%nat -> face_step n z T a = unit_step n z all_actions T a.
Proof.
  intros some; unfold face_step, unit_step.
  rewrite only_in, total_on_everything by (reflexivity || apply all_everything).
  rewrite softmax_sum by assumption; ring.
Qed.

Lemma softmax_difference n z a b :
  (a < n)%nat -> (b < n)%nat -> z b < z a -> 0 < softmax n z a - softmax n z b < (z a - z b) / 2.
Proof.
  intros a_inside b_inside below.
  rewrite <- !(conditional_everything n all_actions z) by (assumption || apply all_everything).
  apply conditional_difference; try assumption; try reflexivity; apply all_some; lia.
Qed.

Lemma softmax_difference_le n z a b :
  (a < n)%nat -> (b < n)%nat -> z b <= z a -> 0 <= softmax n z a - softmax n z b <= (z a - z b) / 2.
Proof.
  intros a_inside b_inside below; destruct (Rle_lt_or_eq_dec _ _ below) as [strict|same].
  - pose proof (softmax_difference n z a b a_inside b_inside strict); lra.
  - unfold softmax; rewrite same; lra.
Qed.

Section Step.

Variables (n : nat) (z : vector) (T eta : R).
Hypothesis some : (0 < n)%nat.
Hypothesis T_pos : 0 < T.
Hypothesis eta_pos : 0 < eta.

Let q := softmax n z.
Let qT := softmax n (tempered T z).
Let step := face_step n z T.
Let after_step := moved eta z step.
Let A := all_actions.

Lemma tempered_difference a b : tempered T z a - tempered T z b = (z a - z b) / T.
Proof. unfold tempered; field; lra. Qed.

Lemma tempered_le a b : z b <= z a -> tempered T z b <= tempered T z a.
Proof.
  intros below; unfold tempered, Rdiv; apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|assumption].
Qed.

(** |dz_a - dz_b| <= (eta/2) max(1, 1/T) |z_a - z_b| *)
Theorem pairs_lipschitz a b :
  (a < n)%nat -> (b < n)%nat ->
  Rabs (eta * step a - eta * step b) <= eta / 2 * Rmax 1 (/ T) * Rabs (z a - z b).
Proof.
  assert (forall c d, (c < n)%nat -> (d < n)%nat -> z d <= z c ->
            Rabs (eta * step c - eta * step d) <= eta / 2 * Rmax 1 (/ T) * (z c - z d)) as ordered.
  { intros c d c_inside d_inside below; unfold step; rewrite !face_step_eq by assumption.
    pose proof (softmax_difference_le n z c d c_inside d_inside below) as cold.
    pose proof (softmax_difference_le n (tempered T z) c d c_inside d_inside (tempered_le c d below)) as warm.
    rewrite tempered_difference in warm; fold q in cold |- *; fold qT in warm |- *.
    assert ((z c - z d) / 2 <= Rmax 1 (/ T) * (z c - z d) / 2) as first.
    { assert (1 * (z c - z d) <= Rmax 1 (/ T) * (z c - z d)); [|lra].
      apply Rmult_le_compat_r; [lra|apply Rmax_l]. }
    assert ((z c - z d) / T / 2 <= Rmax 1 (/ T) * (z c - z d) / 2) as second.
    { assert (/ T * (z c - z d) <= Rmax 1 (/ T) * (z c - z d)).
      { apply Rmult_le_compat_r; [lra|apply Rmax_r]. }
      unfold Rdiv in *; lra. }
    replace (eta * (qT c - q c) - eta * (qT d - q d)) with (eta * ((qT c - qT d) - (q c - q d))) by ring.
    rewrite Rabs_mult, (Rabs_pos_eq eta) by lra.
    replace (eta / 2 * Rmax 1 (/ T) * (z c - z d)) with (eta * (Rmax 1 (/ T) * (z c - z d) / 2)) by field.
    apply Rmult_le_compat_l; [lra|apply Rabs_le; lra]. }
  intros a_inside b_inside; destruct (Rle_dec (z b) (z a)) as [below|above].
  - rewrite (Rabs_pos_eq (z a - z b)) by lra; apply ordered; assumption.
  - rewrite (Rabs_left (z a - z b)) by lra; rewrite Rabs_minus_sym.
    replace (- (z a - z b)) with (z b - z a) by ring; apply ordered; [assumption|assumption|lra].
Qed.

Lemma ties_kept a b : (a < n)%nat -> (b < n)%nat -> z a = z b -> after_step a = after_step b.
Proof.
  intros a_inside b_inside tie; unfold after_step, moved, step; rewrite !face_step_eq by assumption.
  unfold softmax, tempered; rewrite tie; reflexivity.
Qed.

Hypothesis eta_small : eta <= 2.

Lemma strict_order_kept a b : (a < n)%nat -> (b < n)%nat -> z b < z a -> after_step b < after_step a.
Proof.
  intros a_inside b_inside below; unfold after_step, moved, step; rewrite !face_step_eq by assumption.
  pose proof (softmax_difference n z a b a_inside b_inside below) as cold.
  pose proof (softmax_difference_le n (tempered T z) a b a_inside b_inside (tempered_le a b ltac:(lra))) as warm.
  fold q in cold |- *; fold qT in warm |- *.
  assert (0 <= eta * (qT a - qT b)) by (apply Rmult_le_pos; lra).
  assert (eta * (q a - q b) <= 2 * (q a - q b)) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.

Lemma order_kept a b : (a < n)%nat -> (b < n)%nat -> z b <= z a -> after_step b <= after_step a.
Proof.
  intros a_inside b_inside below; destruct (Rle_lt_or_eq_dec _ _ below) as [strict|tie].
  - apply Rlt_le, strict_order_kept; assumption.
  - rewrite (ties_kept b a) by assumption; lra.
Qed.

Lemma range_fall_eq :
  exists t b, (t < n)%nat /\ (b < n)%nat /\ z t = largest n z /\ z b = smallest n z /\
    range_on n A z - range_on n A after_step = eta * ((q t - qT t) + (qT b - q b)).
Proof.
  destruct (largest_on_attained n A z (all_some n some)) as (t & t_inside & t_in & top).
  destruct (smallest_on_attained n A z (all_some n some)) as (b & b_inside & b_in & bottom).
  exists t, b; repeat split; try assumption; [symmetry; exact top|symmetry; exact bottom|].
  unfold range_on; rewrite top, bottom.
  rewrite (largest_on_eq n A after_step (after_step t) t), (smallest_on_eq n A after_step (after_step b) b);
    try assumption; try reflexivity.
  - unfold after_step, moved, step; rewrite !face_step_eq by assumption; fold q qT; ring.
  - intros c c_inside _; apply order_kept; [assumption|assumption|].
    rewrite <- bottom; apply smallest_on_le; [assumption|reflexivity].
  - intros c c_inside _; apply order_kept; [assumption|assumption|].
    rewrite <- top; apply largest_on_ge; [assumption|reflexivity].
Qed.

Lemma heated_top_bottom t b :
  (t < n)%nat -> (b < n)%nat -> z t = largest n z -> z b = smallest n z -> ~ uniform_on n A z ->
  (1 < T -> qT t < q t /\ q b <= qT b) /\ (T < 1 -> q t < qT t /\ qT b <= q b).
Proof.
  intros t_inside b_inside top bottom uneven.
  assert (nonempty n A) as some_A by (apply all_some, some).
  assert (forall a, (a < n)%nat -> conditional n (tempered 1 z) A a = q a) as plain.
  { intros a inside; rewrite conditional_everything by (assumption || apply all_everything).
    apply softmax_tempered_1; assumption. }
  assert (forall a, (a < n)%nat -> conditional n (tempered T z) A a = qT a) as warm.
  { intros a inside; apply conditional_everything; [apply all_everything|assumption]. }
  split; intros side.
  - pose proof (top_loses_strictly n A some_A z 1 T t ltac:(lra) side t_inside eq_refl top uneven) as loss.
    pose proof (bottom_gains n A some_A z 1 T b ltac:(lra) ltac:(lra) b_inside eq_refl bottom) as gain.
    rewrite !plain, !warm in * by assumption; auto.
  - pose proof (top_loses_strictly n A some_A z T 1 t T_pos side t_inside eq_refl top uneven) as loss.
    pose proof (bottom_gains n A some_A z T 1 b T_pos ltac:(lra) b_inside eq_refl bottom) as gain.
    rewrite !plain, !warm in * by assumption; auto.
Qed.

(** The range of the logits falls for T > 1, grows for T < 1. *)
Theorem range_falls_when_hot : 1 < T -> ~ uniform_on n A z -> range_on n A after_step < range_on n A z.
Proof.
  intros hot uneven; destruct range_fall_eq as (t & b & t_inside & b_inside & top & bottom & fall).
  destruct (heated_top_bottom t b t_inside b_inside top bottom uneven) as [above _].
  destruct (above hot) as [loss gain].
  assert (0 < eta * ((q t - qT t) + (qT b - q b))) by (apply Rmult_lt_0_compat; lra); lra.
Qed.

Theorem range_grows_when_cold : T < 1 -> ~ uniform_on n A z -> range_on n A z < range_on n A after_step.
Proof.
  intros cold uneven; destruct range_fall_eq as (t & b & t_inside & b_inside & top & bottom & fall).
  destruct (heated_top_bottom t b t_inside b_inside top bottom uneven) as [_ below].
  destruct (below cold) as [gain loss].
  assert (0 < eta * ((qT t - q t) + (q b - qT b))) by (apply Rmult_lt_0_compat; lra); lra.
Qed.

Theorem range_rests : T = 1 \/ uniform_on n A z -> range_on n A after_step = range_on n A z.
Proof.
  intros rest.
  assert (forall a, (a < n)%nat -> after_step a = z a) as still.
  { intros a inside; unfold after_step, moved, step; rewrite face_step_eq by assumption.
    destruct rest as [->|even].
    - rewrite softmax_tempered_1 by assumption; ring.
    - assert (forall y, (forall c d, (c < n)%nat -> (d < n)%nat -> y c = y d) -> softmax n y a = / INR n) as flat.
      { intros y same; unfold softmax.
        rewrite (sum_ext n (fun c => exp (y c)) (fun _ => exp (y a)))
          by (intros c c_inside; rewrite (same c a); auto).
        rewrite sum_const; pose proof (exp_pos (y a)); pose proof (lt_0_INR n some); field; lra. }
      rewrite !flat; [ring| |].
      + intros c d c_inside d_inside; apply even; auto.
      + intros c d c_inside d_inside; unfold tempered; rewrite (even c d); auto. }
  unfold range_on, smallest_on; f_equal; [|f_equal];
    apply Rle_antisym; apply largest_on_mono; try (apply all_some, some);
    intros a inside _; rewrite still by assumption; lra.
Qed.

(** For T > 1 the range falls by (e^{-R/T} - e^{-R})/n^2 at least, per unit learning rate. *)
Lemma range_fall_at_least :
  1 < T ->
  range_on n A after_step
  <= range_on n A z
     - eta * ((exp (- range_on n A z / T) - exp (- range_on n A z)) / (INR n * INR n)).
Proof.
  intros hot; destruct range_fall_eq as (t & b & t_inside & b_inside & top & bottom & fall).
  assert (nonempty n A) as some_A by (apply all_some, some).
  pose proof (bottom_gain_at_least n A some_A z T b hot b_inside eq_refl bottom) as gain.
  rewrite !conditional_everything in gain by (assumption || apply all_everything); fold q qT in gain.
  assert (count_on n A = INR n) as count.
  { unfold count_on; rewrite total_on_everything, sum_const by apply all_everything; ring. }
  rewrite count in gain.
  pose proof (top_loses n A some_A z 1 T t ltac:(lra) ltac:(lra) t_inside eq_refl top) as loss.
  rewrite !conditional_everything in loss by (assumption || apply all_everything).
  rewrite softmax_tempered_1 in loss by assumption; fold q qT in loss.
  apply Rmult_le_compat_l with (r := eta) in gain; [|lra].
  assert (0 <= eta * (q t - qT t)) by (apply Rmult_le_pos; lra); lra.
Qed.

(** For T < 1 the likeliest answer leaves every other behind. *)
Lemma lead_growth t a :
  T < 1 -> (t < n)%nat -> (a < n)%nat -> z t = largest n z ->
  (z t - z a) + eta * ((exp (- (z t - z a)) - exp (- (z t - z a) / T)) / (INR n * INR n))
  <= after_step t - after_step a.
Proof.
  intros cold t_inside a_inside top.
  assert (nonempty n A) as some_A by (apply all_some, some).
  assert (0 < / T) as inverse_pos by (apply Rinv_0_lt_compat, T_pos).
  assert (1 < / T) as inverse_large by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra).
  assert (forall y c d, (c < n)%nat -> (d < n)%nat -> softmax n y c = softmax n y d * exp (y c - y d)) as ratio.
  { intros y c d c_inside d_inside.
    rewrite <- !(conditional_everything n A y) by (assumption || apply all_everything).
    apply conditional_ratio; [exact some_A|reflexivity|reflexivity]. }
  assert (forall c, (c < n)%nat -> z c <= z t) as below by (intros; rewrite top; apply largest_ge; assumption).
  assert (forall c, (c < n)%nat -> 0 <= qT t * q c - q t * qT c) as ordered.
  { intros c inside; unfold q, qT; rewrite (ratio z c t), (ratio (tempered T z) c t), tempered_difference
      by assumption.
    assert (exp ((z c - z t) / T) <= exp (z c - z t)).
    { apply exp_le; specialize (below c inside).
      assert (0 <= (z t - z c) * (/ T - 1)) by (apply Rmult_le_pos; lra); unfold Rdiv; lra. }
    assert (0 < softmax n (tempered T z) t * softmax n z t)
      by (apply Rmult_lt_0_compat; apply softmax_pos, some).
    assert (softmax n (tempered T z) t * softmax n z t * exp ((z c - z t) / T)
            <= softmax n (tempered T z) t * softmax n z t * exp (z c - z t))
      by (apply Rmult_le_compat_l; lra).
    lra. }
  assert (qT t * q a - q t * qT a <= qT t - q t) as top_gain.
  { replace (qT t - q t) with (sum n (fun c => qT t * q c - q t * qT c)).
    - apply (sum_ge_term n (fun c => qT t * q c - q t * qT c)); assumption.
    - rewrite sum_minus, !sum_scal; unfold q, qT; rewrite !softmax_sum by assumption; ring. }
  pose proof (ordered a a_inside) as X_nonneg.
  assert (0 < q a <= 1) as q_a by (split; [apply softmax_pos, some|apply softmax_le_1; assumption]).
  assert (q a <= q t) as q_le by (apply softmax_le; [assumption|apply below; assumption]).
  assert (qT t * q a - q t * qT a <= (qT t - q t) - (qT a - q a)) as growth.
  { destruct (Rle_dec (qT a) (q a)) as [loses|gains]; [lra|].
    apply Rmult_le_reg_l with (q a); [lra|].
    assert (q a * (qT t * q a - q t * qT a) <= 1 * (qT t * q a - q t * qT a)) by (apply Rmult_le_compat_r; lra).
    assert (q a * (qT a - q a) <= q t * (qT a - q a)) by (apply Rmult_le_compat_r; lra).
    lra. }
  assert (INR n > 0) as n_pos by (apply lt_0_INR, some).
  assert (forall y, (forall c, (c < n)%nat -> y c <= y t) -> / INR n <= softmax n y t) as share.
  { intros y y_below; unfold softmax.
    apply Rmult_le_reg_r with (sum n (fun b => exp (y b))); [apply normalizer_pos, some|].
    replace (exp (y t) / sum n (fun b => exp (y b)) * sum n (fun b => exp (y b))) with (exp (y t)).
    2: { pose proof (normalizer_pos n y some); field; lra. }
    apply Rmult_le_reg_l with (INR n); [assumption|].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    rewrite <- sum_const; apply sum_le; intros; apply exp_le, y_below; assumption. }
  pose proof (share z below) as q_share; pose proof (share (tempered T z) (fun c inside => tempered_le t c (below c inside)))
    as qT_share; fold q in q_share; fold qT in qT_share.
  assert ((exp (- (z t - z a)) - exp (- (z t - z a) / T)) / (INR n * INR n) <= qT t * q a - q t * qT a) as X_large.
  { unfold q at 1, qT at 2; rewrite (ratio z a t), (ratio (tempered T z) a t), tempered_difference by assumption.
    fold q qT.
    replace (- (z t - z a)) with (z a - z t) by ring.
    replace (qT t * (q t * exp (z a - z t)) - q t * (qT t * exp ((z a - z t) / T)))
      with ((exp (z a - z t) - exp ((z a - z t) / T)) * (q t * qT t)) by ring.
    unfold Rdiv at 1; apply Rmult_le_compat_l.
    - assert (exp ((z a - z t) / T) <= exp (z a - z t)); [|lra].
      apply exp_le; specialize (below a a_inside).
      assert (0 <= (z t - z a) * (/ T - 1)) by (apply Rmult_le_pos; lra); unfold Rdiv; lra.
    - rewrite Rinv_mult; pose proof (Rinv_0_lt_compat _ n_pos); apply Rmult_le_compat; lra. }
  unfold after_step, moved, step; rewrite !face_step_eq by assumption; fold q qT.
  assert (eta * ((exp (- (z t - z a)) - exp (- (z t - z a) / T)) / (INR n * INR n))
          <= eta * ((qT t - q t) - (qT a - q a))) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

End Step.
