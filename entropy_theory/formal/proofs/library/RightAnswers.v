(** How temperature moves the right answers among themselves, q = pi( . | A).

    - q_a - q_b <= (z_a - z_b)/2: no step of size eta <= 2 changes the order of the logits;
    - a hotter policy gives the likeliest answer less and the least likely one more. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional.
Open Scope R_scope.

(** The range of the logits on a set. *)
Definition range_on (n : nat) (A : mask) (z : vector) : R := largest_on n A z - smallest_on n A z.

Lemma sum_ge_pair n f a b :
  (forall c, (c < n)%nat -> 0 <= f c) -> (a < n)%nat -> (b < n)%nat -> a <> b -> f a + f b <= sum n f.
Proof.
  induction n as [|k IH]; simpl; intros nonneg a_inside b_inside other; [lia|].
  destruct (Nat.eq_dec a k) as [->|a_other]; [|destruct (Nat.eq_dec b k) as [->|b_other]].
  - assert (f b <= sum k f) by (apply sum_ge_term; [auto with arith|lia]); lra.
  - assert (f a <= sum k f) by (apply sum_ge_term; [auto with arith|lia]); lra.
  - assert (f a + f b <= sum k f) by (apply IH; [auto with arith|lia|lia|assumption]).
    specialize (nonneg k ltac:(lia)); lra.
Qed.

Section Right_answers.

Variables (n : nat) (A : mask).
Hypothesis some : nonempty n A.

Lemma range_nonneg z : 0 <= range_on n A z.
Proof.
  destruct some as (a & inside & chosen); unfold range_on.
  pose proof (largest_on_ge n A z a inside chosen); pose proof (smallest_on_le n A z a inside chosen); lra.
Qed.

Lemma within_range z a b :
  (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> z a - z b <= range_on n A z.
Proof.
  intros a_inside b_inside a_chosen b_chosen; unfold range_on.
  pose proof (largest_on_ge n A z a a_inside a_chosen).
  pose proof (smallest_on_le n A z b b_inside b_chosen); lra.
Qed.

Lemma range_pos z : ~ uniform_on n A z -> 0 < range_on n A z.
Proof.
  intros uneven; apply Rnot_le_lt; intros zero; apply uneven.
  intros a b a_inside b_inside a_chosen b_chosen.
  pose proof (within_range z a b a_inside b_inside a_chosen b_chosen).
  pose proof (within_range z b a b_inside a_inside b_chosen a_chosen); lra.
Qed.

(** q_a = 1 / sum_b e^{z_b - z_a} *)
Lemma conditional_inverse z a :
  A a = true -> conditional n z A a = / total_on n A (fun b => exp (z b - z a)).
Proof.
  intros chosen; rewrite conditional_in by assumption.
  pose proof (weight_pos n A some z); pose proof (exp_pos (z a)).
  rewrite (total_on_ext n A (fun b => exp (z b - z a)) (fun b => exp (z b) * / exp (z a))).
  - rewrite total_on_scal_r; field; lra.
  - intros; unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity.
Qed.

Lemma relative_weight_pos z a : 0 < total_on n A (fun b => exp (z b - z a)).
Proof. apply total_on_pos; [exact some|intros; apply exp_pos]. Qed.

(** e^{-R}/m <= q_a, and more precisely for the least likely answer q_b <= e^{-R}. *)
Lemma conditional_at_least z a :
  (a < n)%nat -> A a = true -> exp (- range_on n A z) / count_on n A <= conditional n z A a.
Proof.
  intros inside chosen; rewrite conditional_inverse by assumption.
  pose proof (count_on_pos n A some); pose proof (relative_weight_pos z a).
  replace (exp (- range_on n A z) / count_on n A) with (/ (count_on n A * exp (range_on n A z))).
  - apply Rinv_le_contravar; [assumption|].
    apply total_on_le_count; intros b b_inside b_chosen; apply exp_le, within_range; assumption.
  - rewrite exp_Ropp; pose proof (exp_pos (range_on n A z)); field; lra.
Qed.

Lemma conditional_at_most z a :
  (a < n)%nat -> A a = true -> conditional n z A a <= exp (range_on n A z) / count_on n A.
Proof.
  intros inside chosen; rewrite conditional_inverse by assumption.
  pose proof (count_on_pos n A some).
  replace (exp (range_on n A z) / count_on n A) with (/ (count_on n A * exp (- range_on n A z))).
  - apply Rinv_le_contravar; [apply Rmult_lt_0_compat; [assumption|apply exp_pos]|].
    apply total_on_ge_count; intros b b_inside b_chosen; apply exp_le.
    pose proof (within_range z a b inside b_inside chosen b_chosen); lra.
  - rewrite exp_Ropp; pose proof (exp_pos (range_on n A z)); field; lra.
Qed.

Lemma least_likely_at_most z b :
  (b < n)%nat -> A b = true -> z b = smallest_on n A z -> conditional n z A b <= exp (- range_on n A z).
Proof.
  intros inside chosen least; rewrite conditional_inverse, exp_Ropp by assumption.
  destruct (largest_on_attained n A z some) as (t & t_inside & t_chosen & top).
  apply Rinv_le_contravar; [apply exp_pos|].
  replace (range_on n A z) with (z t - z b) by (unfold range_on; lra).
  apply (total_on_ge_term n A (fun d => exp (z d - z b)));
    [intros; apply Rlt_le, exp_pos|assumption|assumption].
Qed.

Lemma range_tempered z T : 0 < T -> range_on n A (tempered T z) = range_on n A z / T.
Proof.
  intros positive; unfold range_on, smallest_on, tempered.
  assert (largest_on n A (fun a => - (z a / T)) = largest_on n A (fun a => - z a) / T) as ->.
  { rewrite <- largest_on_div by assumption.
    apply Rle_antisym; apply largest_on_mono; try assumption; intros; right; unfold Rdiv; ring. }
  rewrite largest_on_div by assumption; unfold Rdiv; ring.
Qed.

(** * Order *)

(** q_a - q_b <= (q_a + q_b) (z_a - z_b)/2 <= (z_a - z_b)/2 *)
Lemma conditional_difference z a b :
  (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> z b < z a ->
  0 < conditional n z A a - conditional n z A b < (z a - z b) / 2.
Proof.
  intros a_inside b_inside a_chosen b_chosen below.
  pose proof (conditional_pos n A some z b b_chosen) as b_pos.
  pose proof (conditional_lt n A some z b a a_chosen below).
  split; [lra|].
  assert (conditional n z A a + conditional n z A b <= 1) as both.
  { rewrite <- (conditional_sum n A some z); apply sum_ge_pair; [|assumption|assumption|].
    - intros; apply conditional_nonneg, some.
    - intros same; rewrite same in below; lra. }
  rewrite (conditional_ratio n A some z a b) in * by assumption.
  set (q := conditional n z A b) in *; set (D := z a - z b) in *.
  pose proof (tanh_below D ltac:(unfold D; lra)) as tanh.
  apply Rmult_lt_compat_l with (r := q) in tanh; [|assumption].
  assert ((q * exp D + q) * (D / 2) <= 1 * (D / 2))
    by (apply Rmult_le_compat_r; [unfold D; lra|assumption]).
  lra.
Qed.

Lemma conditional_difference_le z a b :
  (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> z b <= z a ->
  0 <= conditional n z A a - conditional n z A b <= (z a - z b) / 2.
Proof.
  intros a_inside b_inside a_chosen b_chosen below.
  destruct (Rle_lt_or_eq_dec _ _ below) as [strict|same].
  - pose proof (conditional_difference z a b a_inside b_inside a_chosen b_chosen strict); lra.
  - rewrite (conditional_ratio n A some z a b) by assumption.
    replace (z a - z b) with 0 by lra; rewrite exp_0; lra.
Qed.

(** * Heating *)

Lemma top_loses z T T' t :
  0 < T -> T <= T' -> (t < n)%nat -> A t = true -> z t = largest_on n A z ->
  conditional n (tempered T' z) A t <= conditional n (tempered T z) A t.
Proof.
  intros T_pos hotter inside chosen top; rewrite !conditional_inverse by assumption.
  apply Rinv_le_contravar; [apply relative_weight_pos|].
  apply total_on_le; intros b b_inside b_chosen; apply exp_le; unfold tempered.
  pose proof (largest_on_ge n A z b b_inside b_chosen).
  pose proof (Rinv_le_contravar T T' T_pos hotter).
  assert (0 <= (z t - z b) * (/ T - / T')) by (apply Rmult_le_pos; lra); unfold Rdiv; lra.
Qed.

Lemma top_loses_strictly z T T' t :
  0 < T -> T < T' -> (t < n)%nat -> A t = true -> z t = largest_on n A z -> ~ uniform_on n A z ->
  conditional n (tempered T' z) A t < conditional n (tempered T z) A t.
Proof.
  intros T_pos hotter inside chosen top uneven; rewrite !conditional_inverse by assumption.
  assert (/ T' < / T) as inverse by (apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; lra|assumption]).
  apply Rinv_lt_contravar.
  { apply Rmult_lt_0_compat; apply relative_weight_pos. }
  destruct (smallest_on_attained n A z some) as (b & b_inside & b_chosen & bottom).
  pose proof (range_pos z uneven) as wide; unfold range_on in wide.
  apply total_on_lt with b; [|assumption|assumption|].
  - intros d d_inside d_chosen; apply exp_le; unfold tempered.
    pose proof (largest_on_ge n A z d d_inside d_chosen).
    assert (0 <= (z t - z d) * (/ T - / T')) by (apply Rmult_le_pos; lra); unfold Rdiv; lra.
  - apply exp_increasing; unfold tempered.
    assert (0 < (z t - z b) * (/ T - / T')) by (apply Rmult_lt_0_compat; lra); unfold Rdiv; lra.
Qed.

Lemma bottom_gains z T T' b :
  0 < T -> T <= T' -> (b < n)%nat -> A b = true -> z b = smallest_on n A z ->
  conditional n (tempered T z) A b <= conditional n (tempered T' z) A b.
Proof.
  intros T_pos hotter inside chosen bottom; rewrite !conditional_inverse by assumption.
  apply Rinv_le_contravar; [apply relative_weight_pos|].
  apply total_on_le; intros d d_inside d_chosen; apply exp_le; unfold tempered.
  pose proof (smallest_on_le n A z d d_inside d_chosen).
  pose proof (Rinv_le_contravar T T' T_pos hotter).
  assert (0 <= (z d - z b) * (/ T - / T')) by (apply Rmult_le_pos; lra); unfold Rdiv; lra.
Qed.

(** The least likely answer gains at least (e^{-R/T} - e^{-R})/m^2 at T > 1. *)
Lemma bottom_gain_at_least z T b :
  1 < T -> (b < n)%nat -> A b = true -> z b = smallest_on n A z ->
  (exp (- range_on n A z / T) - exp (- range_on n A z)) / (count_on n A * count_on n A)
  <= conditional n (tempered T z) A b - conditional n z A b.
Proof.
  intros hot inside chosen bottom.
  pose proof (count_on_ge_1 n A some) as m_large; set (m := count_on n A) in *.
  rewrite !conditional_inverse by assumption.
  pose proof (relative_weight_pos z b) as x_pos; pose proof (relative_weight_pos (tempered T z) b) as y_pos.
  set (sx := total_on n A (fun d => exp (z d - z b))) in *.
  set (sy := total_on n A (fun d => exp (tempered T z d - tempered T z b))) in *.
  set (R := range_on n A z) in *.
  assert (/ T <= 1) as cool by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (0 < / T) as inverse_pos by (apply Rinv_0_lt_compat; lra).
  assert (forall d, tempered T z d - tempered T z b = (z d - z b) * / T) as shrunk
    by (intros; unfold tempered; field; lra).
  destruct (largest_on_attained n A z some) as (t & t_inside & t_chosen & top).
  assert (exp R - exp (R / T) <= sx - sy) as spread.
  { unfold sx, sy; rewrite <- total_on_minus.
    replace R with (z t - z b) by (unfold R, range_on; lra).
    replace ((z t - z b) / T) with (tempered T z t - tempered T z b) by (rewrite shrunk; reflexivity).
    apply (total_on_ge_term n A (fun d => exp (z d - z b) - exp (tempered T z d - tempered T z b)));
      [|assumption|assumption].
    intros d d_inside d_chosen; pose proof (smallest_on_le n A z d d_inside d_chosen).
    assert (exp (tempered T z d - tempered T z b) <= exp (z d - z b)); [|lra].
    apply exp_le; rewrite shrunk; rewrite <- (Rmult_1_r (z d - z b)) at 2.
    apply Rmult_le_compat_l; lra. }
  assert (sx <= m * exp R) as sx_large.
  { apply total_on_le_count; intros d d_inside d_chosen; apply exp_le, within_range; assumption. }
  assert (sy <= m * exp (R / T)) as sy_large.
  { apply total_on_le_count; intros d d_inside d_chosen; apply exp_le; rewrite shrunk.
    apply Rmult_le_compat_r; [lra|apply within_range; assumption]. }
  pose proof (exp_pos R) as eR; pose proof (exp_pos (R / T)) as eRT.
  replace (- R / T) with (- (R / T)) by (unfold Rdiv; ring).
  rewrite !exp_Ropp.
  replace ((/ exp (R / T) - / exp R) / (m * m))
    with ((exp R - exp (R / T)) * / (m * exp R * (m * exp (R / T)))) by (field; lra).
  replace (/ sy - / sx) with ((sx - sy) * / (sx * sy)) by (field; lra).
  assert (0 <= exp R - exp (R / T)) as nonneg.
  { assert (exp (R / T) <= exp R); [|lra].
    apply exp_le; pose proof (range_nonneg z) as R_nonneg; fold R in R_nonneg.
    rewrite <- (Rmult_1_r R) at 2; apply Rmult_le_compat_l; lra. }
  apply Rmult_le_compat; [assumption| |assumption|].
  - apply Rlt_le, Rinv_0_lt_compat; repeat apply Rmult_lt_0_compat; lra.
  - apply Rinv_le_contravar; [apply Rmult_lt_0_compat; assumption|].
    apply Rmult_le_compat; lra.
Qed.

End Right_answers.

(** Entropy is at least p (log m - R). *)
Lemma entropy_at_least_near n z A :
  nonempty n A ->
  total_on n A (softmax n z) * (ln (count_on n A) - range_on n A z) <= entropy n z.
Proof.
  intros some; pose proof (nonempty_inhabited n A some) as inhabited.
  rewrite (entropy_of_groups n z A).
  assert (0 <= group_part n (softmax n z) (complement A)) as rest.
  { unfold group_part; rewrite <- total_on_opp; apply total_on_nonneg; intros a inside _.
    rewrite Ropp_mult_distr_r; apply Rmult_le_pos; [apply Rlt_le, softmax_pos, inhabited|].
    pose proof (ln_nonpos _ (softmax_pos n z a inhabited) (softmax_le_1 n z a inside)); lra. }
  assert (total_on n A (softmax n z) * (ln (count_on n A) - range_on n A z)
          <= group_part n (softmax n z) A); [|lra].
  unfold group_part; rewrite <- total_on_scal_r, <- total_on_opp.
  apply total_on_le; intros a inside chosen; rewrite Ropp_mult_distr_r.
  apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, inhabited|].
  pose proof (softmax_pos n z a inhabited) as a_pos.
  pose proof (conditional_at_most n A some z a inside chosen) as share.
  assert (softmax n z a <= conditional n z A a) as conditioned.
  { rewrite (softmax_conditional n A some z a chosen).
    rewrite <- (Rmult_1_l (conditional n z A a)) at 2; apply Rmult_le_compat_r;
      [apply conditional_nonneg, some|].
    rewrite <- (softmax_sum n z inhabited), <- (total_on_complement n A).
    assert (0 <= total_on n (complement A) (softmax n z)); [|lra].
    apply total_on_nonneg; intros; apply Rlt_le, softmax_pos, inhabited. }
  pose proof (ln_nondecreasing _ (exp (range_on n A z) / count_on n A) a_pos ltac:(lra)) as log.
  rewrite ln_div, ln_exp in log by (apply exp_pos || apply count_on_pos; assumption); lra.
Qed.
