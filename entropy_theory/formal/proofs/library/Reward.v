(** The reward p = pi(A) under an expected step of tempered REINFORCE.

    With q = pi( . | A), q^T = pi^T( . | A), G(T) = sum_A q q^T and N = sum_A q^2,

      <grad p, step> = p P_T {(1 - p)(G(T) - p N) + sum_{wrong} pi^2},

    where G falls as T rises, from N at T = 1 to 1/m at most. Where G >= p N the reward rises strictly in a
    step of any size. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone
  Conditional Learning.
Open Scope R_scope.

(** G(T) *)
Definition overlap (n : nat) (z : vector) (A : mask) (T : R) : R :=
  total_on n A (fun a => conditional n z A a * conditional n (tempered T z) A a).
(** N *)
Definition concentration (n : nat) (z : vector) (A : mask) : R :=
  total_on n A (fun a => conditional n z A a * conditional n z A a).
(** 1 for a right action, 0 for a wrong one. *)
Definition hit (A : mask) : vector := only A (fun _ => 1).

Section Overlap.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : nonempty n A.

Let q := conditional n z A.
Local Notation hot T := (conditional n (tempered T z) A).

Lemma conditional_tempered_1 a : (a < n)%nat -> hot 1 a = q a.
Proof. intros inside; apply conditional_ext; [intros; apply tempered_1|assumption]. Qed.

Lemma overlap_1 : overlap n z A 1 = concentration n z A.
Proof.
  apply total_on_ext; intros a inside chosen; fold q.
  rewrite (conditional_tempered_1 a inside); reflexivity.
Qed.

(** The colder policy is a tilt of the hotter one. *)
Lemma tilt T T' a :
  0 < T -> 0 < T' -> (a < n)%nat -> A a = true ->
  hot T a * mean n (hot T') (fun b => exp ((/ T - / T') * z b))
  = hot T' a * exp ((/ T - / T') * z a).
Proof.
  intros T_pos T'_pos inside chosen.
  rewrite mean_conditional, !conditional_in by assumption.
  pose proof (weight_pos n A some (tempered T z)); pose proof (weight_pos n A some (tempered T' z)).
  assert (forall b, exp (tempered T z b) = exp (tempered T' z b) * exp ((/ T - / T') * z b)) as product.
  { intros b; rewrite <- exp_plus; f_equal; unfold tempered; field; lra. }
  rewrite (total_on_ext n A (fun b => conditional n (tempered T' z) A b * exp ((/ T - / T') * z b))
             (fun b => exp (tempered T z b) * / total_on n A (fun d => exp (tempered T' z d)))).
  - rewrite total_on_scal_r, product; field; lra.
  - intros b b_inside b_chosen; rewrite conditional_in, product by assumption; unfold Rdiv; ring.
Qed.

Lemma tilt_normalizer_pos T T' : 0 < mean n (hot T') (fun b => exp ((/ T - / T') * z b)).
Proof.
  rewrite mean_conditional; apply total_on_pos; [exact some|].
  intros a inside chosen; apply Rmult_lt_0_compat; [apply conditional_pos; assumption|apply exp_pos].
Qed.

(** For any f that is ordered like z, E f under q^T falls as T rises. *)
Lemma mean_ordered_falls f T T' :
  0 < T -> T <= T' ->
  (forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> z a <= z b -> f a <= f b) ->
  mean n (hot T') f <= mean n (hot T) f.
Proof.
  intros T_pos hotter ordered.
  pose proof (tilt_normalizer_pos T T') as normalizer.
  set (r := fun b => exp ((/ T - / T') * z b)) in *.
  assert (mean n (hot T) f * mean n (hot T') r = mean n (hot T') (fun a => r a * f a)) as tilted.
  { rewrite (mean_conditional n A (tempered T z) f), (mean_conditional n A (tempered T' z) (fun a => r a * f a)),
      <- total_on_scal_r.
    apply total_on_ext; intros a inside chosen.
    pose proof (tilt T T' a T_pos ltac:(lra) inside chosen) as same.
    fold r in same.
    replace (hot T a * f a * mean n (hot T') r) with (hot T a * mean n (hot T') r * f a) by ring.
    rewrite same; unfold r; ring. }
  assert (0 <= covariance n (hot T') r f) as chebyshev.
  { apply conditional_covariance_nonneg; [exact some|].
    assert (0 <= / T - / T') by (pose proof (Rinv_le_contravar T T' T_pos hotter); lra).
    intros a b a_inside b_inside a_chosen b_chosen.
    assert (forall x y, x <= y -> exp ((/ T - / T') * x) <= exp ((/ T - / T') * y)) as rising.
    { intros x y below; apply exp_le, Rmult_le_compat_l; assumption. }
    unfold r; destruct (Rle_dec (z a) (z b)) as [below|above].
    - pose proof (ordered a b a_inside b_inside a_chosen b_chosen below); pose proof (rising _ _ below).
      rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra.
    - pose proof (ordered b a b_inside a_inside b_chosen a_chosen ltac:(lra)).
      pose proof (rising (z b) (z a) ltac:(lra)); apply Rmult_le_pos; lra. }
  rewrite covariance_eq in chebyshev by (apply conditional_sum, some).
  rewrite <- tilted in chebyshev.
  apply Rmult_le_reg_r with (mean n (hot T') r); [assumption|lra].
Qed.

Lemma overlap_mean T : overlap n z A T = mean n (hot T) q.
Proof. rewrite mean_conditional; apply total_on_ext; intros; unfold q; ring. Qed.

Lemma overlap_falls T T' : 0 < T -> T <= T' -> overlap n z A T' <= overlap n z A T.
Proof.
  intros T_pos hotter; rewrite !overlap_mean; apply mean_ordered_falls; [assumption|assumption|].
  intros a b _ _ _ b_chosen below; apply conditional_le; assumption.
Qed.

(** G(T) >= 1/m, by Chebyshev's sum inequality under the uniform policy. *)
Lemma overlap_at_least T : 0 < T -> / count_on n A <= overlap n z A T.
Proof.
  intros positive; pose proof (count_on_pos n A some) as m_pos.
  set (u := conditional n (fun _ => 0) A).
  assert (forall a, A a = true -> u a = / count_on n A) as even.
  { intros a chosen; unfold u; rewrite conditional_in by assumption.
    rewrite total_on_const, exp_0; field; lra. }
  assert (forall f, mean n u f = total_on n A f / count_on n A) as mean_u.
  { intros f; unfold u; rewrite mean_conditional; fold u.
    rewrite (total_on_ext n A _ (fun a => f a / count_on n A)).
    - apply total_on_div.
    - intros a inside chosen; rewrite even by assumption; unfold Rdiv; ring. }
  assert (0 <= covariance n u q (hot T)) as chebyshev.
  { apply conditional_covariance_nonneg; [exact some|].
    intros a b a_inside b_inside a_chosen b_chosen.
    assert (forall d e, z d <= z e -> tempered T z d <= tempered T z e) as cooled.
    { intros d e below; unfold tempered, Rdiv; apply Rmult_le_compat_r;
        [apply Rlt_le, Rinv_0_lt_compat; assumption|assumption]. }
    unfold q; destruct (Rle_dec (z a) (z b)) as [below|above].
    - pose proof (conditional_le n A some z a b b_chosen below).
      pose proof (conditional_le n A some (tempered T z) a b b_chosen (cooled _ _ below)).
      rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra.
    - pose proof (conditional_le n A some z b a a_chosen ltac:(lra)).
      pose proof (conditional_le n A some (tempered T z) b a a_chosen (cooled b a ltac:(lra))).
      apply Rmult_le_pos; lra. }
  unfold u in chebyshev; rewrite covariance_eq in chebyshev by (apply conditional_sum, some).
  fold u in chebyshev; rewrite !mean_u in chebyshev.
  unfold q at 2 in chebyshev; rewrite !conditional_total in chebyshev by assumption.
  fold (overlap n z A T) in chebyshev.
  apply Rmult_le_reg_r with (/ count_on n A); [apply Rinv_0_lt_compat, m_pos|].
  change (total_on n A (fun a => q a * hot T a)) with (overlap n z A T) in chebyshev.
  unfold Rdiv in chebyshev; lra.
Qed.

Lemma concentration_pos : 0 < concentration n z A.
Proof.
  apply total_on_pos; [exact some|]; intros a inside chosen.
  apply Rmult_lt_0_compat; apply conditional_pos; assumption.
Qed.

End Overlap.

(** * A step of any size *)

Section Step.

Variables (n : nat) (z : vector) (A : mask) (T eta : R).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).
Hypothesis T_pos : 0 < T.
Hypothesis eta_pos : 0 < eta.

Let p := total_on n A (softmax n z).
Let P := total_on n A (softmax n (tempered T z)).
Let q := conditional n z A.
Let step := unit_step n z A T.
Let growth : vector := fun a => exp (eta * step a).

(** A right action's step is P_T (q^T - p q). *)
Lemma right_step a :
  A a = true -> step a = P * (conditional n (tempered T z) A a - p * q a).
Proof.
  intros chosen; unfold step; rewrite unit_step_right by assumption.
  rewrite (softmax_conditional n A some (tempered T z) a), (softmax_conditional n A some z a) by assumption.
  fold P p q; ring.
Qed.

(** E_q step = P_T (G - p N) *)
Lemma mean_right_step :
  total_on n A (fun a => q a * step a) = P * (overlap n z A T - p * concentration n z A).
Proof.
  unfold overlap, concentration; fold q.
  rewrite <- total_on_scal, <- total_on_minus, <- total_on_scal.
  apply total_on_ext; intros a inside chosen; rewrite right_step by assumption; ring.
Qed.

Hypothesis keeps : p * concentration n z A <= overlap n z A T.

(** E_q e^{eta step} >= 1, as e^y >= 1 + y. *)
Lemma right_growth : 1 <= total_on n A (fun a => q a * growth a).
Proof.
  apply Rle_trans with (total_on n A (fun a => q a + eta * (q a * step a))).
  - rewrite total_on_plus, total_on_scal, mean_right_step.
    pose proof (right_mass_between n z A some wrong T) as between; fold P in between.
    unfold q; rewrite conditional_total by assumption.
    assert (0 <= eta * (P * (overlap n z A T - p * concentration n z A))).
    { apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]. }
    lra.
  - apply total_on_le; intros a inside chosen.
    replace (q a + eta * (q a * step a)) with (q a * (1 + eta * step a)) by ring.
    apply Rmult_le_compat_l; [apply conditional_nonneg; assumption|apply exp_ineq1_le].
Qed.

Lemma wrong_growth : total_on n (complement A) (fun a => conditional n z (complement A) a * growth a) < 1.
Proof.
  rewrite <- (conditional_total n (complement A) wrong z).
  destruct wrong as (b & b_inside & b_chosen).
  assert (forall a, complement A a = true -> growth a < 1) as shrinks.
  { intros a chosen; apply complement_true in chosen; unfold growth; apply exp_lt_1.
    unfold step; rewrite (unit_step_wrong n z A T a chosen).
    pose proof (right_mass_between n z A some wrong T) as between; fold P in between.
    pose proof (softmax_pos n z a (nonempty_inhabited n A some)).
    fold P; assert (0 < eta * (P * softmax n z a)) by (apply Rmult_lt_0_compat; [lra|apply Rmult_lt_0_compat; lra]); lra. }
  assert (forall a, complement A a = true ->
            conditional n z (complement A) a * growth a < conditional n z (complement A) a) as each.
  { intros a chosen; pose proof (shrinks a chosen) as less_than_1.
    pose proof (conditional_pos n (complement A) wrong z a chosen) as weight.
    rewrite <- (Rmult_1_r (conditional n z (complement A) a)) at 2.
    apply Rmult_lt_compat_l; assumption. }
  apply total_on_lt with b; [|assumption|assumption|apply each, b_chosen].
  intros a inside chosen; apply Rlt_le, each, chosen.
Qed.

Lemma group_weight_after B :
  nonempty n B ->
  total_on n B (fun a => exp (moved eta z step a))
  = total_on n B (fun a => exp (z a)) * total_on n B (fun a => conditional n z B a * growth a).
Proof.
  intros some_B; rewrite <- total_on_scal; apply total_on_ext; intros a inside chosen.
  rewrite conditional_in by assumption; unfold moved, growth; rewrite exp_plus.
  pose proof (weight_pos n B some_B z); field; lra.
Qed.

(** The reward rises, whatever the size of the step. *)
Theorem reward_rises : p < total_on n A (softmax n (moved eta z step)).
Proof.
  pose proof right_growth as right; pose proof wrong_growth as left.
  assert (forall y, total_on n A (softmax n y)
            = total_on n A (fun a => exp (y a))
              / (total_on n A (fun a => exp (y a)) + total_on n (complement A) (fun a => exp (y a))))
    as as_ratio.
  { intros y; rewrite total_on_complement; apply total_on_div. }
  unfold p; rewrite !as_ratio, (group_weight_after A some), (group_weight_after (complement A) wrong).
  fold q.
  pose proof (weight_pos n A some z) as S_pos; pose proof (weight_pos n (complement A) wrong z) as W_pos.
  set (S := total_on n A (fun a => exp (z a))) in *.
  set (W := total_on n (complement A) (fun a => exp (z a))) in *.
  set (up := total_on n A (fun a => q a * growth a)) in *.
  set (down := total_on n (complement A) (fun a => conditional n z (complement A) a * growth a)) in *.
  assert (0 < down) as down_pos.
  { apply total_on_pos; [exact wrong|]; intros a inside chosen.
    apply Rmult_lt_0_compat; [apply conditional_pos; assumption|apply exp_pos]. }
  assert (0 < S * up) by (apply Rmult_lt_0_compat; lra).
  assert (0 < W * down) by (apply Rmult_lt_0_compat; lra).
  apply Rmult_lt_reg_r with (S + W); [lra|].
  apply Rmult_lt_reg_r with (S * up + W * down); [lra|].
  replace (S / (S + W) * (S + W) * (S * up + W * down)) with (S * (S * up + W * down)) by (field; lra).
  replace (S * up / (S * up + W * down) * (S + W) * (S * up + W * down)) with (S * up * (S + W))
    by (field; lra).
  assert (S * W * down < S * W * up) by (apply Rmult_lt_compat_l; [apply Rmult_lt_0_compat; assumption|lra]).
  lra.
Qed.

(** So do its log-odds, by log E_q e^{eta step} - log E_wrong e^{eta step}. *)
Theorem log_odds_rise :
  0 < ln (1 + total_on n A (fun a => q a * (exp (eta * step a) - 1)))
      - ln (1 + total_on n (complement A)
                  (fun a => conditional n z (complement A) a * (exp (eta * step a) - 1))).
Proof.
  assert (forall B, nonempty n B ->
            1 + total_on n B (fun a => conditional n z B a * (exp (eta * step a) - 1))
            = total_on n B (fun a => conditional n z B a * growth a)) as recentered.
  { intros B some_B; rewrite <- (conditional_total n B some_B z) at 1; rewrite <- total_on_plus.
    apply total_on_ext; intros; unfold growth; ring. }
  unfold q; rewrite !recentered by assumption; fold q.
  pose proof right_growth; pose proof wrong_growth.
  assert (0 < total_on n (complement A) (fun a => conditional n z (complement A) a * growth a)).
  { apply total_on_pos; [exact wrong|]; intros a inside chosen.
    apply Rmult_lt_0_compat; [apply conditional_pos; assumption|apply exp_pos]. }
  pose proof (ln_increasing _ 1 H1 H0); rewrite ln_1 in *.
  pose proof (ln_nonneg _ H); lra.
Qed.

End Step.

(** The second hypothesis that does it: p m N <= 1. *)
Lemma keeps_answers n z A T :
  nonempty n A -> nonempty n (complement A) -> 0 < T ->
  T <= 1 \/ total_on n A (softmax n z) * count_on n A * concentration n z A <= 1 ->
  total_on n A (softmax n z) * concentration n z A <= overlap n z A T.
Proof.
  intros some wrong T_pos [cold|spread].
  - pose proof (overlap_falls n z A some T 1 T_pos cold) as above; rewrite overlap_1 in above.
    pose proof (concentration_pos n z A some).
    pose proof (masses_sum n z A some); pose proof (wrong_mass_pos n z A some wrong).
    assert (total_on n A (softmax n z) * concentration n z A <= 1 * concentration n z A)
      by (apply Rmult_le_compat_r; lra).
    lra.
  - pose proof (overlap_at_least n z A some T T_pos) as above.
    pose proof (count_on_pos n A some) as m_pos.
    refine (Rle_trans _ _ _ _ above).
    apply Rmult_le_reg_l with (count_on n A); [assumption|].
    rewrite Rinv_r by lra; lra.
Qed.
