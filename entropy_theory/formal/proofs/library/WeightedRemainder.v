(** The remainder of the first order, weighted by the policy.

    A bound in ||d||^2 counts every logit alike, those of tokens that are never sampled too. Here are bounds in which
    each logit counts as much as its token's probability. With u = d - E d, V = E u^2 = Var_pi(d), M >= max u,
    rho = max d - min d, l = log pi + H and the remainder R = H(z + d) - H(z) + Cov(log pi, d):

      |R| <= (e^M/2) {V + E[|l| u^2] + V |Cov(log pi, d)|},
      |R| <= (e^M/2) V (1 + log n + log(rho^2/V)),
       R  >= -(1/2)(1 + log n) sup_t Var_{pi_t}(d),    Var_{pi_t}(d) <= e^M V.

    M is the largest move upwards only: how far logits are pushed down does not enter it. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics Masks Tilt Taylor Curvature Spread CurvatureBounds EntropyChange.
Open Scope R_scope.

(** 0 <= e^x - 1 - x <= e^M x^2/2 for x <= M, M >= 0. *)
Lemma exp_above_tangent x : 0 <= exp x - 1 - x.
Proof. pose proof (exp_ineq1_le x); lra. Qed.

Lemma exp_second_order x M : x <= M -> 0 <= M -> exp x - 1 - x <= exp M * (x * x) / 2.
Proof.
  intros below nonneg.
  assert (exp (1 * x) - exp (0 * x) - x * exp (0 * x) <= exp M * (x * x) / 2) as taylor.
  { apply (taylor_2_upper (fun s => exp (s * x)) (fun s => x * exp (s * x)) (fun s => x * x * exp (s * x))).
    - intros s _; auto_derive; [trivial|ring].
    - intros s _; auto_derive; [trivial|ring].
    - intros s inside; rewrite (Rmult_comm (exp M)); apply Rmult_le_compat_l; [nra|].
      assert (s * x <= M) as top by nra.
      apply exp_nondecreasing, top. }
  rewrite Rmult_1_l, Rmult_0_l, exp_0 in taylor; lra.
Qed.

Lemma mean_abs_le n p f g :
  (forall a, (a < n)%nat -> 0 <= p a) -> (forall a, (a < n)%nat -> Rabs (f a) <= g a) ->
  Rabs (mean n p f) <= mean n p g.
Proof.
  intros nonneg each; apply Rabs_le; split.
  - rewrite <- mean_opp; apply mean_le; [assumption|]; intros a inside.
    pose proof (proj1 (Rabs_le_between _ _) (each a inside)); lra.
  - apply mean_le; [assumption|]; intros a inside.
    pose proof (proj1 (Rabs_le_between _ _) (each a inside)); lra.
Qed.

(** A variance is the least mean square. *)
Lemma variance_below_mean_square n p d c :
  sum n p = 1 -> covariance n p d d <= mean n p (fun a => (d a - c) * (d a - c)).
Proof.
  intros one; rewrite covariance_eq by assumption.
  rewrite (mean_ext n p (fun a => (d a - c) * (d a - c)) (fun a => d a * d a - 2 * c * d a + c * c))
    by (intros; ring).
  rewrite mean_plus, mean_minus, mean_scal, mean_const by assumption.
  pose proof (pow2_ge_0 (mean n p d - c)); lra.
Qed.

Section Weighted.

Variables (n : nat) (z d : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let u := centered n p d.
Let V := covariance n p d d.
Let one : sum n p = 1.
Proof. apply softmax_sum, some. Qed.
Let positive a : 0 < p a.
Proof. apply softmax_pos, some. Qed.
Let nonneg a : (a < n)%nat -> 0 <= p a.
Proof. intros; apply Rlt_le, positive. Qed.
Let no_drift : mean n p u = 0.
Proof. apply mean_centered, one. Qed.

(** * The policies on the way *)

(** E e^{t u} *)
Definition tilt_normalizer (t : R) : R := mean n p (fun a => exp (t * u a)).

Lemma tilt_normalizer_above t : 1 <= tilt_normalizer t.
Proof.
  apply Rle_trans with (mean n p (fun a => 1 + t * u a)).
  - rewrite mean_plus, mean_const, mean_scal, no_drift by exact one; lra.
  - apply mean_le; [exact nonneg|intros; apply exp_ineq1_le].
Qed.

Lemma softmax_line t a : softmax n (line z d t) a = p a * exp (t * u a) / tilt_normalizer t.
Proof.
  assert (forall b, exp (line z d t b)
                    = exp (t * mean n p d) * sum n (fun c => exp (z c)) * (p b * exp (t * u b))) as each.
  { intros b; unfold line, u, centered; set (m := mean n p d); unfold p, softmax.
    replace (z b + t * d b) with (t * m + (z b + t * (d b - m))) by ring.
    rewrite !exp_plus; pose proof (normalizer_pos n z some); field; lra. }
  unfold softmax at 1; rewrite each, (sum_ext n _ _ (fun b _ => each b)), sum_scal.
  fold (mean n p (fun b => exp (t * u b))); fold (tilt_normalizer t).
  pose proof (tilt_normalizer_above t); pose proof (exp_pos (t * mean n p d)).
  pose proof (normalizer_pos n z some); field; lra.
Qed.

Section Above.

Variable M : R.
Hypothesis above : forall a, (a < n)%nat -> u a <= M.

Lemma top_nonneg : 0 <= M.
Proof. rewrite <- no_drift, <- (mean_const n p M one); apply mean_le; assumption. Qed.

(** No probability grows by more than e^M, *)
Lemma softmax_line_below t a : 0 <= t <= 1 -> (a < n)%nat -> softmax n (line z d t) a <= p a * exp M.
Proof.
  intros time inside; rewrite softmax_line.
  pose proof (tilt_normalizer_above t) as normalizer; pose proof top_nonneg as top.
  assert (0 <= p a * exp (t * u a)) by (apply Rmult_le_pos; [auto|apply Rlt_le, exp_pos]).
  apply Rle_trans with (p a * exp (t * u a)).
  - apply Rmult_le_reg_r with (tilt_normalizer t); [lra|].
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra; nra.
  - apply Rmult_le_compat_l; [auto|]; apply exp_nondecreasing; specialize (above a inside); nra.
Qed.

(** and with them no mean of something nonnegative, nor the variance. *)
Lemma mean_line_below t f :
  0 <= t <= 1 -> (forall a, (a < n)%nat -> 0 <= f a) ->
  mean n (softmax n (line z d t)) f <= exp M * mean n p f.
Proof.
  intros time f_nonneg; unfold mean; rewrite <- sum_scal; apply sum_le; intros a inside.
  pose proof (softmax_line_below t a time inside); specialize (f_nonneg a inside).
  apply Rle_trans with (p a * exp M * f a); [apply Rmult_le_compat_r; assumption|lra].
Qed.

Lemma variance_line_below t : 0 <= t <= 1 -> covariance n (softmax n (line z d t)) d d <= exp M * V.
Proof.
  intros time.
  apply Rle_trans with (1 := variance_below_mean_square n _ d (mean n p d) (softmax_sum n _ some)).
  apply mean_line_below; [assumption|intros; apply Rle_0_sqr].
Qed.

Lemma variance_weighted_nonneg : 0 <= V.
Proof. apply variance_nonneg, nonneg. Qed.

Lemma tilt_normalizer_below : tilt_normalizer 1 <= 1 + exp M * V / 2.
Proof.
  replace (1 + exp M * V / 2) with (mean n p (fun a => 1 + u a + exp M / 2 * (u a * u a))).
  - apply mean_le; [exact nonneg|intros a inside].
    pose proof (exp_second_order (u a) M (above a inside) top_nonneg); rewrite Rmult_1_l; lra.
  - rewrite !mean_plus, mean_const, mean_scal, no_drift by exact one.
    unfold V; rewrite variance_of_centered; fold u; field.
Qed.

(** KL(pi' || pi) <= (e^M/2) Var_pi(d), as it is the integral of t Var_{pi_t}(d). *)
Lemma divergence_below : divergence n (moved_by z d) z <= exp M * V / 2.
Proof.
  rewrite <- divergence_line_end.
  assert (0 <= exp M * V / 2 * 1 ^ 2 - divergence n (line z d 1) z); [|lra].
  apply (nonneg_from_slope (fun t => exp M * V / 2 * t ^ 2 - divergence n (line z d t) z)
           (fun t => exp M * V * t - t * covariance n (softmax n (line z d t)) d d)).
  - intros t _; evar_last.
    + apply @is_derive_minus; [|apply is_derive_divergence_line, some].
      auto_derive; [trivial|reflexivity].
    + unfold minus, plus, opp; simpl; field.
  - intros t time; pose proof (variance_line_below t time).
    assert (0 <= t * (exp M * V - covariance n (softmax n (line z d t)) d d)) by (apply Rmult_le_pos; lra).
    lra.
  - rewrite divergence_line_start by exact some; simpl; lra.
  - lra.
Qed.

(** * Without the number of actions *)

Let l := fun a => log_softmax n z a + entropy n z.

Let mean_depth : mean n p l = 0.
Proof. unfold l; rewrite mean_plus, mean_const, entropy_log by exact one; fold p; ring. Qed.

Let covariance_depth f : covariance n p (log_softmax n z) f = mean n p (fun a => l a * f a).
Proof.
  rewrite covariance_centered_l by exact one; apply mean_ext; intros a _; unfold centered, l.
  rewrite entropy_log; fold p; ring.
Qed.

(** R = -E[(e^u - 1 - u) l]/E e^u + (1 - 1/E e^u) Cov(log pi, d) - KL(pi' || pi): exact. *)
Lemma remainder_split :
  entropy_change n z d + covariance n p (log_softmax n z) d
  = - (mean n p (fun a => (exp (u a) - 1 - u a) * l a) / tilt_normalizer 1)
    + (1 - / tilt_normalizer 1) * covariance n p (log_softmax n z) d
    - divergence n (moved_by z d) z.
Proof.
  pose proof (tilt_normalizer_above 1) as normalizer.
  rewrite exact_change_1 by exact some; fold p.
  assert (covariance n p (log_softmax n z) d = mean n p (fun a => l a * u a)) as first.
  { rewrite covariance_depth; unfold u, centered.
    rewrite (mean_ext n p (fun a => l a * (d a - mean n p d)) (fun a => l a * d a - mean n p d * l a))
      by (intros; ring).
    rewrite mean_minus, mean_scal, mean_depth; ring. }
  assert (covariance n p (ratio n z d) (log_softmax n z)
          = mean n p (fun a => exp (u a) * l a) / tilt_normalizer 1) as weights.
  { rewrite covariance_sym, covariance_depth; unfold Rdiv; rewrite <- mean_scal_r.
    apply mean_ext; intros a inside.
    replace (ratio n z d a) with (exp (u a) / tilt_normalizer 1); [field; lra|].
    apply Rmult_eq_reg_l with (p a); [|pose proof (positive a); lra].
    unfold p at 2; rewrite reweighted by exact some.
    rewrite (softmax_ext n (moved_by z d) (line z d 1)) by
      (intros; try assumption; symmetry; apply line_end).
    rewrite softmax_line, Rmult_1_l; field; lra. }
  rewrite weights, first.
  rewrite (mean_ext n p (fun a => (exp (u a) - 1 - u a) * l a)
             (fun a => exp (u a) * l a - l a - l a * u a)) by (intros; ring).
  rewrite !mean_minus, mean_depth; field; lra.
Qed.

Theorem weighted_remainder :
  Rabs (entropy_change n z d + covariance n p (log_softmax n z) d)
  <= exp M / 2 * (V + mean n p (fun a => Rabs (l a) * (u a * u a))
                  + V * Rabs (covariance n p (log_softmax n z) d)).
Proof.
  rewrite remainder_split.
  set (E := mean n p (fun a => (exp (u a) - 1 - u a) * l a)).
  set (S := mean n p (fun a => Rabs (l a) * (u a * u a))).
  set (c := covariance n p (log_softmax n z) d).
  pose proof (tilt_normalizer_above 1) as normalizer.
  pose proof tilt_normalizer_below as normalizer_below.
  set (Z := tilt_normalizer 1) in *.
  pose proof divergence_below as divergence_small.
  pose proof (divergence_nonneg n z some (moved_by z d)) as divergence_pos.
  assert (0 < / Z) by (apply Rinv_0_lt_compat; lra).
  assert (/ Z <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (Rabs E <= exp M / 2 * S) as second.
  { unfold S; rewrite <- mean_scal; apply mean_abs_le; [exact nonneg|intros a inside].
    rewrite Rabs_mult, (Rabs_pos_eq (exp (u a) - 1 - u a)) by apply exp_above_tangent.
    pose proof (exp_second_order (u a) M (above a inside) top_nonneg).
    apply Rle_trans with (exp M * (u a * u a) / 2 * Rabs (l a)); [|lra].
    apply Rmult_le_compat_r; [apply Rabs_pos|assumption]. }
  assert (Rabs (E / Z) <= exp M / 2 * S) as shrunk.
  { unfold Rdiv; rewrite Rabs_mult, (Rabs_pos_eq (/ Z)) by lra.
    apply Rle_trans with (Rabs E * 1); [|lra].
    apply Rmult_le_compat_l; [apply Rabs_pos|assumption]. }
  assert (1 - / Z <= exp M * V / 2) as drift.
  { apply Rle_trans with (Z - 1); [|lra].
    apply Rmult_le_reg_r with Z; [lra|].
    rewrite Rmult_minus_distr_r, Rinv_l by lra; pose proof (pow2_ge_0 (Z - 1)); lra. }
  assert (Rabs ((1 - / Z) * c) <= exp M / 2 * (V * Rabs c)) as third.
  { rewrite Rabs_mult, (Rabs_pos_eq (1 - / Z)) by lra.
    replace (exp M / 2 * (V * Rabs c)) with (exp M * V / 2 * Rabs c) by field.
    apply Rmult_le_compat_r; [apply Rabs_pos|assumption]. }
  apply Rabs_le_between in shrunk; apply Rabs_le_between in third.
  apply Rabs_le; lra.
Qed.

(** * With the variance alone *)

Lemma curvature_above_variance y : - quadratic_form n y d <= (1 + ln (INR n)) * covariance n (softmax n y) d d.
Proof.
  rewrite quadratic_form_mean, Ropp_involutive by exact some; rewrite variance_of_centered, <- mean_scal.
  apply mean_le; [intros; apply Rlt_le, softmax_pos, some|intros a inside].
  apply Rmult_le_compat_r; [apply Rle_0_sqr|].
  pose proof (log_softmax_nonpos n y a inside); pose proof (entropy_below_log n y some); lra.
Qed.

Lemma log_range_above_variance : 0 < V -> 0 <= ln ((largest n d - smallest n d) ^ 2 / V).
Proof.
  intros varied; rewrite <- ln_1.
  pose proof (variance_below_range n p d nonneg one _ _ (between_smallest_and_largest n d)) as quarter.
  fold V in quarter; set (r := (largest n d - smallest n d) ^ 2) in *.
  apply Rlt_le, ln_increasing; [lra|].
  apply Rmult_lt_reg_r with V; [assumption|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** E_t[-log pi_t u_t^2] <= V_t log(n rho^2/V) + V. *)
Lemma curvature_below_variance t :
  0 <= t <= 1 -> 0 < V ->
  quadratic_form n (line z d t) d
  <= exp M * V * (1 + ln (INR n) + ln ((largest n d - smallest n d) ^ 2 / V)).
Proof.
  intros time varied.
  set (r := (largest n d - smallest n d) ^ 2).
  pose proof (between_smallest_and_largest n d) as range.
  pose proof (variance_below_range n p d nonneg one _ _ range) as quarter; fold V r in quarter.
  assert (0 < r) as r_pos by lra.
  assert (0 < INR n) as size by (apply lt_0_INR; lia).
  pose proof (ln_INR_nonneg n some) as log_n.
  pose proof (log_range_above_variance varied) as log_r; fold r in log_r.
  set (q := softmax n (line z d t)); set (Vt := covariance n q d d).
  assert (sum n q = 1) as one_t by apply softmax_sum, some.
  assert (forall a, (a < n)%nat -> 0 <= q a) as q_nonneg by (intros; apply Rlt_le, softmax_pos, some).
  assert (0 <= Vt) as Vt_nonneg by (apply variance_nonneg, q_nonneg).
  assert (Vt <= exp M * V) as Vt_below by (apply variance_line_below, time).
  assert (1 <= exp M) as grows by (pose proof top_nonneg; pose proof (exp_ineq1_le M); lra).
  rewrite quadratic_form_mean by exact some; fold q.
  set (H := entropy n (line z d t)).
  assert (0 <= H) as H_nonneg by apply entropy_nonneg.
  assert (forall a, (a < n)%nat ->
    q a * (- (1 + log_softmax n (line z d t) a + H) * (centered n q d a * centered n q d a))
    <= (ln (INR n) + ln (r / V)) * (q a * (centered n q d a * centered n q d a)) + V * / INR n) as each.
  { intros a inside; set (s := centered n q d a * centered n q d a).
    assert (0 <= s) as s_nonneg by apply Rle_0_sqr.
    assert (s <= r) as s_below by (apply (square_centered_below_range n q d q_nonneg one_t); assumption).
    assert (0 < V / r / INR n) as weight by (repeat apply Rdiv_lt_0_compat; assumption).
    pose proof (entropy_term_below (q a) (V / r / INR n) (softmax_pos n _ a some) weight) as tangent.
    replace (V / r / INR n) with (/ (INR n * (r / V))) in tangent by (field; lra).
    assert (0 < r / V) as wide by (apply Rdiv_lt_0_compat; assumption).
    rewrite ln_Rinv, ln_mult in tangent
      by first [assumption|apply Rmult_lt_0_compat; assumption].
    replace (/ (INR n * (r / V))) with (V / r * / INR n) in tangent by (field; lra).
    unfold log_softmax; fold (q a).
    apply (Rmult_le_compat_l s) in tangent; [|assumption].
    assert (0 <= q a * s * (2 + H)) by
      (apply Rmult_le_pos; [apply Rmult_le_pos; [apply q_nonneg, inside|exact s_nonneg]|lra]).
    assert (s * (V / r * / INR n) <= V * / INR n).
    { replace (V * / INR n) with (r * (V / r * / INR n)) by (field; lra).
      apply Rmult_le_compat_r; [apply Rlt_le, weight|assumption]. }
    unfold q in *; nra. }
  rewrite <- mean_opp; unfold mean at 1.
  rewrite (sum_ext n _ (fun a =>
    q a * (- (1 + log_softmax n (line z d t) a + H) * (centered n q d a * centered n q d a))))
    by (intros; ring).
  apply Rle_trans with (1 := sum_le n _ _ each).
  rewrite sum_plus, sum_scal, sum_const.
  fold (mean n q (fun a => centered n q d a * centered n q d a)); rewrite <- variance_of_centered; fold Vt.
  replace (INR n * (V * / INR n)) with V by (field; lra).
  assert ((ln (INR n) + ln (r / V)) * Vt <= (ln (INR n) + ln (r / V)) * (exp M * V))
    by (apply Rmult_le_compat_l; lra).
  assert (1 * V <= exp M * V) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.

Theorem variance_remainder :
  0 < V ->
  Rabs (entropy_change n z d + covariance n p (log_softmax n z) d)
  <= exp M / 2 * (V * (1 + ln (INR n) + ln ((largest n d - smallest n d) ^ 2 / V))).
Proof.
  intros varied.
  set (r := (largest n d - smallest n d) ^ 2).
  replace (exp M / 2 * (V * (1 + ln (INR n) + ln (r / V))))
    with (exp M * V * (1 + ln (INR n) + ln (r / V)) / 2) by field.
  apply first_order_error_sup; [exact some|intros t time; apply Rabs_le; split].
  - pose proof (curvature_above_variance (line z d t)) as lower.
    pose proof (variance_line_below t time) as smaller; pose proof (ln_INR_nonneg n some).
    pose proof (log_range_above_variance varied) as log_r; fold r in log_r.
    assert ((1 + ln (INR n)) * covariance n (softmax n (line z d t)) d d
            <= (1 + ln (INR n)) * (exp M * V)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= exp M * V * ln (r / V))
      by (repeat apply Rmult_le_pos; try assumption; try lra; apply Rlt_le, exp_pos).
    lra.
  - apply curvature_below_variance; assumption.
Qed.

(** From below log(rho^2/V) is not needed. *)
Theorem variance_remainder_lower :
  - (exp M / 2 * (V * (1 + ln (INR n)))) <= entropy_change n z d + covariance n p (log_softmax n z) d.
Proof.
  replace (exp M / 2 * (V * (1 + ln (INR n)))) with ((1 + ln (INR n)) * (exp M * V) / 2) by field.
  apply first_order_error_lower; [exact some|intros t time].
  pose proof (curvature_above_variance (line z d t)); pose proof (ln_INR_nonneg n some).
  assert ((1 + ln (INR n)) * covariance n (softmax n (line z d t)) d d
          <= (1 + ln (INR n)) * (exp M * V))
    by (apply Rmult_le_compat_l; [lra|apply variance_line_below, time]).
  lra.
Qed.

End Above.

(** ... nor is a bound on d, where the variance along the way is known. *)
Theorem variance_remainder_lower_sup K :
  (forall t, 0 <= t <= 1 -> covariance n (softmax n (line z d t)) d d <= K) ->
  - ((1 + ln (INR n)) * K / 2) <= entropy_change n z d + covariance n p (log_softmax n z) d.
Proof.
  intros bound; apply first_order_error_lower; [exact some|intros t time].
  pose proof (curvature_above_variance (line z d t)); pose proof (ln_INR_nonneg n some).
  assert ((1 + ln (INR n)) * covariance n (softmax n (line z d t)) d d <= (1 + ln (INR n)) * K)
    by (apply Rmult_le_compat_l; [lra|apply bound, time]).
  lra.
Qed.

End Weighted.
