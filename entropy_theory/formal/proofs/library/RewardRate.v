(** To first order: up to which temperature T_R tempered REINFORCE raises the reward.

    Per correct tempered sample the rate r(T) = <grad p, q^T - pi> is continuous and does not increase with T,
    r(T) >= p (1 - p)^2 N for T <= 1, and r tends to p {(1 - p)(1/m - p N) + V} as T grows. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone
  Conditional Learning Reward.
Open Scope R_scope.

(** r(T) = Cov(1_A, q^T - pi) *)
Definition sample_reward_rate (n : nat) (z : vector) (A : mask) (T : R) : R :=
  covariance n (softmax n z) (hit A) (fun a => conditional n (tempered T z) A a - softmax n z a).

(** The reward's derivative along a step is the covariance of reward and step. *)
Lemma is_derive_reward n z A step :
  (0 < n)%nat ->
  is_derive (fun eta => total_on n A (softmax n (moved eta z step))) 0
    (covariance n (softmax n z) (hit A) step).
Proof.
  intros some.
  apply is_derive_ext with (f := fun eta => mean n (softmax n (moved eta z step)) (hit A)).
  { intros eta; apply sum_ext; intros; unfold hit, only; destruct (A a); ring. }
  assert (forall a, moved 0 z step a = z a) as start by (intros; unfold moved; ring).
  evar_last.
  - apply (is_derive_mean n (fun eta => moved eta z step) step 0 some) with
      (f := fun _ => hit A) (g := fun _ => 0).
    + intros a inside; unfold moved; auto_derive; [trivial|ring].
    + intros a inside; apply @is_derive_const.
  - assert (mean n (softmax n (moved 0 z step)) (fun _ => 0) = 0) as ->.
    { unfold mean; rewrite (sum_ext n _ (fun _ => 0)) by (intros; ring); apply sum_zero. }
    rewrite Rplus_0_r, covariance_sym.
    assert (forall f, mean n (softmax n (moved 0 z step)) f = mean n (softmax n z) f) as same.
    { intros f; apply sum_ext; intros a inside; rewrite (softmax_ext n (moved 0 z step) z a); auto. }
    unfold covariance, centered; rewrite !same; reflexivity.
Qed.

Section Rate.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).

Let p := total_on n A (softmax n z).
Let V := total_on n (complement A) (fun a => softmax n z a * softmax n z a).
Let N := concentration n z A.
Let m := count_on n A.
Let r := sample_reward_rate n z A.

Lemma right_squares : total_on n A (fun a => softmax n z a * softmax n z a) = p * p * N.
Proof.
  unfold N, concentration; rewrite <- total_on_scal; apply total_on_ext; intros a inside chosen.
  rewrite (softmax_conditional n A some z a) by assumption; fold p; ring.
Qed.

Lemma mean_hit f : mean n (softmax n z) (fun a => hit A a * f a) = total_on n A (fun a => softmax n z a * f a).
Proof. apply sum_ext; intros; unfold hit, only; destruct (A a); ring. Qed.

Lemma sample_reward_rate_formula T : r T = p * ((1 - p) * (overlap n z A T - p * N) + V).
Proof.
  pose proof (nonempty_inhabited n A some) as inhabited.
  set (hot := conditional n (tempered T z) A).
  assert (total_on n A (fun a => softmax n z a * hot a) = p * overlap n z A T) as along.
  { unfold overlap; rewrite <- total_on_scal; apply total_on_ext; intros a inside chosen.
    rewrite (softmax_conditional n A some z a) by assumption; fold p hot; ring. }
  assert (mean n (softmax n z) hot = p * overlap n z A T) as mean_hot.
  { rewrite <- along; apply sum_ext; intros a inside; unfold only.
    destruct (A a) eqn:chosen; [reflexivity|].
    unfold hot; rewrite conditional_out by assumption; ring. }
  assert (mean n (softmax n z) (softmax n z) = p * p * N + V) as squares.
  { rewrite <- right_squares; unfold V; rewrite total_on_complement; reflexivity. }
  assert (mean n (softmax n z) (hit A) = p) as mean_A.
  { rewrite (mean_ext n _ (hit A) (fun a => hit A a * 1)) by (intros; ring).
    rewrite mean_hit; unfold p; apply total_on_ext; intros; ring. }
  unfold r, sample_reward_rate; rewrite covariance_eq by (apply softmax_sum, inhabited).
  rewrite mean_A, mean_hit, mean_minus; fold hot; rewrite mean_hot, squares.
  rewrite (total_on_ext n A _ (fun a => softmax n z a * hot a - softmax n z a * softmax n z a))
    by (intros; ring).
  rewrite total_on_minus, along, right_squares; ring.
Qed.

Lemma p_between : 0 < p < 1.
Proof.
  pose proof (right_mass_pos n z A some); pose proof (wrong_mass_pos n z A some wrong).
  pose proof (masses_sum n z A some); unfold p; lra.
Qed.

Lemma wrong_squares_pos : 0 < V.
Proof.
  apply total_on_pos; [exact wrong|]; intros a inside chosen.
  pose proof (softmax_pos n z a (nonempty_inhabited n A some)); apply Rmult_lt_0_compat; assumption.
Qed.

Lemma rate_does_not_increase T T' : 0 < T -> T <= T' -> r T' <= r T.
Proof.
  intros T_pos hotter; rewrite !sample_reward_rate_formula.
  pose proof (overlap_falls n z A some T T' T_pos hotter) as falls; pose proof p_between.
  apply Rmult_le_compat_l; [lra|].
  assert ((1 - p) * (overlap n z A T' - p * N) <= (1 - p) * (overlap n z A T - p * N))
    by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Lemma rate_when_cold T : 0 < T -> T <= 1 -> p * (1 - p) * (1 - p) * N + p * V <= r T.
Proof.
  intros T_pos cold; apply Rle_trans with (r 1); [|apply rate_does_not_increase; assumption].
  rewrite sample_reward_rate_formula, overlap_1; right; unfold N; ring.
Qed.

Lemma cold_rate_pos T : 0 < T -> T <= 1 -> 0 < r T.
Proof.
  intros T_pos cold; pose proof (rate_when_cold T T_pos cold) as above.
  pose proof p_between; pose proof wrong_squares_pos.
  pose proof (concentration_pos n z A some) as N_pos; fold N in N_pos.
  assert (0 < p * V) by (apply Rmult_lt_0_compat; lra).
  assert (0 <= p * (1 - p) * (1 - p) * N)
    by (apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]|lra]).
  lra.
Qed.

(** * Continuity *)

Lemma continuous_total_on (f : R -> vector) x :
  (forall a, (a < n)%nat -> A a = true -> continuous (fun T => f T a) x) ->
  continuous (fun T => total_on n A (f T)) x.
Proof.
  intros each; unfold total_on; clear some wrong p V N m r.
  induction n as [|k IH]; simpl; [apply continuous_const|].
  apply @continuous_plus with (f := fun T => sum k (only A (f T))); [apply IH; auto with arith|].
  unfold only; destruct (A k) eqn:chosen; [apply each; auto with arith|apply continuous_const].
Qed.

Lemma continuous_tempered_weight T a : 0 < T -> continuous (fun t => exp (tempered t z a)) T.
Proof.
  intros positive; apply (ex_derive_continuous (fun t => exp (tempered t z a))).
  unfold tempered; auto_derive; lra.
Qed.

Lemma continuous_overlap T : 0 < T -> continuous (overlap n z A) T.
Proof.
  intros positive; unfold overlap.
  apply (continuous_total_on (fun t a => conditional n z A a * conditional n (tempered t z) A a)).
  intros a inside chosen.
  apply continuous_ext with (f := fun t => conditional n z A a *
    (exp (tempered t z a) * / total_on n A (fun b => exp (tempered t z b)))).
  { intros t; rewrite (conditional_in n A (tempered t z)) by assumption; reflexivity. }
  apply (continuous_mult (fun _ => conditional n z A a)); [apply continuous_const|].
  apply (continuous_mult (fun t => exp (tempered t z a)));
    [apply continuous_tempered_weight, positive|].
  apply (continuous_comp (fun t => total_on n A (fun b => exp (tempered t z b))) (fun y => / y)).
  - apply (continuous_total_on (fun t b => exp (tempered t z b))).
    intros; apply continuous_tempered_weight, positive.
  - apply (continuous_Rinv); apply Rgt_not_eq, weight_pos, some.
Qed.

(** A positive rate stays positive a little further. *)
Lemma rate_open T : 0 < T -> 0 < r T -> exists T', T < T' /\ 0 < r T'.
Proof.
  intros T_pos rate_pos; pose proof p_between as between.
  pose proof (continuous_overlap T T_pos) as continuous.
  assert (0 < r T / (2 * p)) as margin by (apply Rdiv_lt_0_compat; lra).
  apply continuity_pt_filterlim in continuous.
  destruct (continuous (r T / (2 * p)) margin) as (d & d_pos & close).
  exists (T + d / 2); split; [lra|].
  specialize (close (T + d / 2)); simpl in close; unfold R_dist, D_x, no_cond in close.
  assert (Rabs (overlap n z A (T + d / 2) - overlap n z A T) < r T / (2 * p)) as near.
  { apply close; split; [split; [trivial|lra]|].
    replace (T + d / 2 - T) with (d / 2) by ring; rewrite Rabs_pos_eq; lra. }
  apply Rabs_def2 in near.
  assert (r (T + d / 2) = r T + p * (1 - p) * (overlap n z A (T + d / 2) - overlap n z A T)) as ->
    by (rewrite !sample_reward_rate_formula; ring).
  assert (p * (1 - p) * - (overlap n z A (T + d / 2) - overlap n z A T) <= p * (r T / (2 * p))).
  { rewrite Rmult_assoc; apply Rmult_le_compat_l; [lra|].
    destruct (Rle_dec 0 (- (overlap n z A (T + d / 2) - overlap n z A T))) as [fell|rose].
    - apply Rle_trans with (1 * (- (overlap n z A (T + d / 2) - overlap n z A T)));
        [apply Rmult_le_compat_r; lra|lra].
    - assert (0 <= (1 - p) * (overlap n z A (T + d / 2) - overlap n z A T))
        by (apply Rmult_le_pos; lra); lra. }
  replace (p * (r T / (2 * p))) with (r T / 2) in H by (field; lra); lra.
Qed.

(** * The temperature T_R *)

Theorem reward_temperature :
  (forall T, 0 < T -> 0 < r T) \/
  exists T_R, 1 < T_R /\ forall T, 0 < T -> (0 < r T <-> T < T_R).
Proof.
  destruct (classic (exists T, 0 < T /\ r T <= 0)) as [(hot & hot_pos & falls)|none].
  2: { left; intros T T_pos; apply Rnot_le_lt; intros below; apply none; exists T; auto. }
  right.
  destruct (completeness (fun T => 0 < T /\ 0 < r T)) as (T_R & upper & least).
  - exists hot; intros T (T_pos & rises); apply Rnot_lt_le; intros hotter.
    pose proof (rate_does_not_increase hot T hot_pos ltac:(lra)); lra.
  - exists 1; split; [lra|apply cold_rate_pos; lra].
  - assert (1 < T_R) as above_1.
    { destruct (rate_open 1 ltac:(lra) (cold_rate_pos 1 ltac:(lra) ltac:(lra))) as (T' & above & rises).
      apply Rlt_le_trans with T'; [assumption|apply upper; split; lra]. }
    exists T_R; split; [assumption|]; intros T T_pos; split; intros rises.
    + destruct (rate_open T T_pos rises) as (T' & above & still).
      apply Rlt_le_trans with T'; [assumption|apply upper; split; lra].
    + apply Rnot_le_lt; intros falls'.
      assert (T_R <= T); [|lra].
      apply least; intros T' (T'_pos & T'_rises); apply Rnot_lt_le; intros hotter.
      pose proof (rate_does_not_increase T T' T_pos ltac:(lra)); lra.
Qed.

(** * When T_R is infinite *)

Lemma overlap_at_most T span :
  0 < T -> (forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> z a - z b <= span) ->
  overlap n z A T <= exp (span / T) / m.
Proof.
  intros T_pos wide; pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  rewrite <- (Rmult_1_l (exp (span / T) / m)), <- (conditional_total n A some z), <- total_on_scal_r.
  apply total_on_le; intros a inside chosen.
  apply Rmult_le_compat_l; [apply conditional_nonneg, some|].
  rewrite conditional_in by assumption.
  pose proof (weight_pos n A some (tempered T z)) as weight.
  apply Rmult_le_reg_r with (total_on n A (fun b => exp (tempered T z b))); [assumption|].
  replace (exp (tempered T z a) / total_on n A (fun b => exp (tempered T z b)) *
           total_on n A (fun b => exp (tempered T z b))) with (exp (tempered T z a)) by (field; lra).
  apply Rle_trans with (exp (span / T) / m * (m * exp (tempered T z a - span / T))).
  - right; unfold Rminus; rewrite exp_plus, exp_Ropp; pose proof (exp_pos (span / T)); field; lra.
  - apply Rmult_le_compat_l.
    + apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|assumption].
    + apply total_on_ge_count; intros b b_inside b_chosen; apply exp_le.
      unfold tempered; apply Rmult_le_reg_r with T; [assumption|].
      replace ((z a / T - span / T) * T) with (z a - span) by (field; lra).
      replace (z b / T * T) with (z b) by (field; lra).
      specialize (wide a b inside b_inside chosen b_chosen); lra.
Qed.

Lemma overlap_above T : 0 < T -> ~ uniform_on n A z -> / m < overlap n z A T.
Proof.
  intros T_pos uneven.
  assert (exists a b, (a < n)%nat /\ (b < n)%nat /\ A a = true /\ A b = true /\ z a < z b)
    as (a & b & a_inside & b_inside & a_chosen & b_chosen & below).
  { apply NNPP; intros none; apply uneven; intros a b a_inside b_inside a_chosen b_chosen.
    destruct (Rtotal_order (z a) (z b)) as [less|[same|more]]; [|assumption|];
      exfalso; apply none; [exists a, b|exists b, a]; auto. }
  (* Halfway between T and a hotter temperature the overlap has already fallen strictly. *)
  pose proof (overlap_at_least n z A some (2 * T) ltac:(lra)) as floor; fold m in floor.
  apply Rle_lt_trans with (1 := floor).
  rewrite !overlap_mean by assumption.
  set (hotter := conditional n (tempered (2 * T) z) A).
  set (ratio := fun d => exp ((/ T - / (2 * T)) * z d)).
  assert (0 < / T - / (2 * T)) as slope_pos.
  { replace (/ T - / (2 * T)) with (/ (2 * T)) by (field; lra); apply Rinv_0_lt_compat; lra. }
  assert (0 < covariance n hotter ratio (conditional n z A)) as strict.
  { apply conditional_covariance_pos with (a := a) (b := b); try assumption.
    - intros d e _ _ d_chosen e_chosen; unfold ratio; destruct (Rle_dec (z d) (z e)) as [low|high].
      + pose proof (conditional_le n A some z d e e_chosen low).
        assert (exp ((/ T - / (2 * T)) * z d) <= exp ((/ T - / (2 * T)) * z e))
          by (apply exp_le, Rmult_le_compat_l; lra).
        rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra.
      + pose proof (conditional_le n A some z e d d_chosen ltac:(lra)).
        assert (exp ((/ T - / (2 * T)) * z e) <= exp ((/ T - / (2 * T)) * z d))
          by (apply exp_le, Rmult_le_compat_l; lra).
        apply Rmult_le_pos; lra.
    - pose proof (conditional_lt n A some z a b b_chosen below).
      assert (ratio a < ratio b) by (apply exp_increasing, Rmult_lt_compat_l; lra).
      rewrite <- Rmult_opp_opp; apply Rmult_lt_0_compat; lra. }
  unfold hotter in strict; rewrite covariance_eq in strict by (apply conditional_sum, some).
  fold hotter in strict.
  pose proof (tilt_normalizer_pos n z A some T (2 * T)) as normalizer; fold hotter ratio in normalizer.
  apply Rmult_lt_reg_r with (mean n hotter ratio); [assumption|].
  assert (mean n (conditional n (tempered T z) A) (conditional n z A) * mean n hotter ratio
          = mean n hotter (fun d => ratio d * conditional n z A d)) as ->; [|lra].
  rewrite (mean_conditional n A (tempered T z)); unfold hotter at 2; rewrite mean_conditional, <- total_on_scal_r.
  apply total_on_ext; intros d inside chosen.
  pose proof (tilt n z A some T (2 * T) d T_pos ltac:(lra) inside chosen) as same.
  fold hotter ratio in same.
  replace (conditional n (tempered T z) A d * conditional n z A d * mean n hotter ratio)
    with (conditional n (tempered T z) A d * mean n hotter ratio * conditional n z A d) by ring.
  rewrite same; fold hotter; unfold ratio; ring.
Qed.

Lemma overlap_uniform T : 0 < T -> uniform_on n A z -> overlap n z A T = / m.
Proof.
  intros T_pos even; apply Rle_antisym; [|apply overlap_at_least; assumption].
  replace (/ m) with (exp (0 / T) / m).
  - apply overlap_at_most; [assumption|]; intros a b a_inside b_inside a_chosen b_chosen.
    rewrite (even a b) by assumption; lra.
  - unfold Rdiv; rewrite Rmult_0_l, exp_0; ring.
Qed.

(** The reward rises at every temperature exactly if (1 - p)/m + V >= p (1 - p) N. *)
Theorem rises_at_every_temperature :
  (forall T, 0 < T -> 0 < r T) <-> p * (1 - p) * N <= (1 - p) / m + V.
Proof.
  pose proof p_between as between; pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  split.
  - intros always; apply Rnot_lt_le; intros short.
    destruct (largest_on_attained n A z some) as (top & _ & _ & top_is).
    destruct (smallest_on_attained n A z some) as (low & low_inside & low_chosen & low_is).
    set (span := largest_on n A z - smallest_on n A z).
    assert (0 <= span) as span_nonneg.
    { pose proof (largest_on_ge n A z low low_inside low_chosen); unfold span; lra. }
    set (lack := (p * (1 - p) * N - V) * m / (1 - p)).
    assert (1 < lack) as lack_large.
    { unfold lack; apply Rmult_lt_reg_r with ((1 - p) / m); [apply Rdiv_lt_0_compat; lra|].
      replace ((p * (1 - p) * N - V) * m / (1 - p) * ((1 - p) / m)) with (p * (1 - p) * N - V)
        by (field; lra); lra. }
    set (x := 1 - / lack).
    assert (0 < x < 1) as x_between.
    { unfold x; pose proof (Rinv_0_lt_compat lack ltac:(lra)).
      assert (/ lack < 1) by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra); lra. }
    set (T := (span + 1) / x).
    assert (0 < T) as T_pos by (apply Rdiv_lt_0_compat; lra).
    assert (exp (span / T) <= lack) as weak.
    { assert (span / T <= x) as small.
      { unfold T; apply Rmult_le_reg_r with (span + 1); [lra|].
        replace (span / ((span + 1) / x) * (span + 1)) with (x * span) by (field; lra).
        apply Rmult_le_compat_l; lra. }
      pose proof (exp_ineq1_le (- (span / T))) as above; rewrite exp_Ropp in above.
      pose proof (exp_pos (span / T)) as e_pos.
      assert (/ lack <= / exp (span / T)) as inverse by (unfold x in small; lra).
      apply Rinv_le_contravar in inverse; [|apply Rinv_0_lt_compat; lra].
      rewrite !Rinv_inv in inverse; exact inverse. }
    pose proof (always T T_pos) as rises; rewrite sample_reward_rate_formula in rises.
    assert (overlap n z A T <= lack / m) as low_overlap.
    { apply Rle_trans with (exp (span / T) / m).
      - apply overlap_at_most; [assumption|]; intros a b a_inside b_inside a_chosen b_chosen.
        pose proof (largest_on_ge n A z a a_inside a_chosen).
        pose proof (smallest_on_le n A z b b_inside b_chosen); unfold span; lra.
      - apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, m_pos|exact weak]. }
    assert ((1 - p) * overlap n z A T <= p * (1 - p) * N - V) as bound.
    { apply Rle_trans with ((1 - p) * (lack / m)); [apply Rmult_le_compat_l; lra|].
      right; unfold lack; field; lra. }
    assert ((1 - p) * (overlap n z A T - p * N) + V <= 0) as not_positive by lra.
    assert (0 <= p * - ((1 - p) * (overlap n z A T - p * N) + V)) by (apply Rmult_le_pos; lra); lra.
  - intros enough T T_pos; rewrite sample_reward_rate_formula; apply Rmult_lt_0_compat; [lra|].
    destruct (classic (uniform_on n A z)) as [even|uneven].
    + pose proof wrong_squares_pos.
      assert (N = / m) as N_eq by (unfold N; rewrite <- overlap_1; apply overlap_uniform; [lra|assumption]).
      rewrite overlap_uniform, N_eq by assumption.
      pose proof (Rinv_0_lt_compat m m_pos).
      assert (0 <= (1 - p) * (/ m - p * / m)).
      { apply Rmult_le_pos; [lra|]; replace (/ m - p * / m) with ((1 - p) * / m) by ring.
        apply Rmult_le_pos; lra. }
      lra.
    + pose proof (overlap_above T T_pos uneven) as above.
      assert ((1 - p) * / m < (1 - p) * overlap n z A T) by (apply Rmult_lt_compat_l; lra).
      unfold Rdiv in enough; lra.
Qed.

End Rate.
