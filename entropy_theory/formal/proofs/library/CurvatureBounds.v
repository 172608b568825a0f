(** How large the second derivative of entropy along a direction can be, for n actions:

        |H''| <= (5/8 + (1/5) log n) ||d||^2 <= (1/2)(1 + log n) ||d||^2.

    Written out, H'' = -V + E[(u^2 - V)(-log pi)], u = d - E d, V = E u^2. From
    -p log p <= p log(1/q) + q - p, with q = 1/(e n) where u^2 < V and q = 1/(8 n) where u^2 > V,

        -H'' <= V (1 + 1/e) + D log n,    H'' <= D (log n + log 8 - 2) + r/8,

    D = E(V - u^2)_+ and r = (max d - min d)^2; their sizes are in [Spread]. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Curvature Spread.
Open Scope R_scope.

(** * Logarithms *)

Lemma ln_below x : 0 < x -> ln x <= x - 1.
Proof. intros positive; pose proof (exp_ineq1_le (ln x)) as tangent; rewrite exp_ln in tangent; lra. Qed.

(** -p log p lies below its tangents. *)
Lemma entropy_term_below p q : 0 < p -> 0 < q -> - (p * ln p) <= - (p * ln q) + q - p.
Proof.
  intros p_pos q_pos.
  pose proof (ln_below (q / p) (Rdiv_lt_0_compat _ _ q_pos p_pos)) as below.
  rewrite ln_div in below by assumption.
  apply (Rmult_le_compat_l p) in below; [|lra].
  replace (p * (q / p - 1)) with (q - p) in below by (field; lra); lra.
Qed.

Lemma exp_pow k x : exp (INR k * x) = exp x ^ k.
Proof.
  induction k as [|m IH]; [rewrite Rmult_0_l, exp_0; reflexivity|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, IH; simpl; ring.
Qed.

Lemma ln_2_above : 3 / 5 < ln 2.
Proof.
  assert (exp (3 / 5) < 2) as below.
  { apply Rnot_le_lt; intros above.
    assert (2 ^ 5 <= exp (3 / 5) ^ 5) as powers by (apply pow_incr; lra).
    rewrite <- exp_pow in powers.
    replace (INR 5 * (3 / 5)) with (INR 3 * 1) in powers by (simpl; field).
    rewrite exp_pow in powers.
    assert (exp 1 ^ 3 <= 3 ^ 3)
      by (apply pow_incr; split; [apply Rlt_le, exp_pos|apply exp_le_3]).
    lra. }
  rewrite <- (ln_exp (3 / 5)); apply ln_increasing; [apply exp_pos|exact below].
Qed.

Lemma exp_minus_1_below : exp (- 1) < 3 / 8.
Proof.
  assert ((33 / 32) ^ 32 <= exp 1) as large.
  { replace (exp 1) with (exp (INR 32 * (1 / 32))) by (f_equal; simpl; field).
    rewrite exp_pow; apply pow_incr; pose proof (exp_ineq1_le (1 / 32)); lra. }
  assert (8 / 3 < (33 / 32) ^ 32) as rational by lra.
  replace (exp (- 1)) with (/ exp 1) by (rewrite <- exp_Ropp; f_equal; ring).
  replace (3 / 8) with (/ (8 / 3)) by field.
  apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; [lra|apply exp_pos]|lra].
Qed.

Lemma ln_INR_above n : (2 <= n)%nat -> ln 2 <= ln (INR n).
Proof.
  intros many; apply le_INR in many; simpl in many.
  destruct many as [more|same]; [apply Rlt_le, ln_increasing; lra|rewrite <- same; apply Rle_refl].
Qed.

Lemma ln_INR_nonneg n : (0 < n)%nat -> 0 <= ln (INR n).
Proof.
  intros some; rewrite <- ln_1.
  assert (1 <= INR n) as least by (apply (le_INR 1); lia).
  destruct least as [more|same]; [apply Rlt_le, ln_increasing; lra|rewrite <- same; apply Rle_refl].
Qed.

Lemma log_softmax_nonpos n z a : (a < n)%nat -> log_softmax n z a <= 0.
Proof.
  intros inside; unfold log_softmax; rewrite <- ln_1.
  assert (0 < softmax n z a) as positive by (apply softmax_pos; lia).
  destruct (softmax_le_1 n z a inside) as [less|same];
    [apply Rlt_le, ln_increasing; assumption|rewrite same; lra].
Qed.

Lemma entropy_nonneg n z : 0 <= entropy n z.
Proof.
  rewrite entropy_log, <- mean_opp; apply sum_nonneg; intros a inside.
  apply Rmult_le_pos; [apply Rlt_le, softmax_pos; lia|].
  pose proof (log_softmax_nonpos n z a inside); lra.
Qed.

Lemma entropy_below_log n z : (0 < n)%nat -> entropy n z <= ln (INR n).
Proof.
  intros some; unfold entropy; rewrite <- sum_opp.
  assert (0 < INR n) as size by (apply lt_0_INR; lia).
  apply Rle_trans with (sum n (fun a => softmax n z a * ln (INR n) + / INR n - softmax n z a)).
  - apply sum_le; intros a inside.
    pose proof (entropy_term_below (softmax n z a) (/ INR n) (softmax_pos n z a some)
                  (Rinv_0_lt_compat _ size)) as below.
    rewrite ln_Rinv in below by assumption; lra.
  - rewrite sum_minus, sum_plus, sum_scal_r, sum_const, softmax_sum by assumption.
    rewrite Rinv_r by lra; lra.
Qed.

(** * The two sides of the curvature *)

Section Bounds.

Variables (n : nat) (z d : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let u := centered n p d.
Let V := covariance n p d d.
Let D := dispersion n p d.
Let one : sum n p = 1.
Proof. apply softmax_sum, some. Qed.
Let positive a : 0 < p a.
Proof. apply softmax_pos, some. Qed.
Let nonneg a : (a < n)%nat -> 0 <= p a.
Proof. intros; apply Rlt_le, positive. Qed.
Let size : 0 < INR n.
Proof. apply lt_0_INR; lia. Qed.

(** H'' = -V + E[(u^2 - V)(-log pi)]. *)
Lemma quadratic_form_terms :
  quadratic_form n z d = - V + sum n (fun a => (u a * u a - V) * - (p a * ln (p a))).
Proof.
  rewrite quadratic_form_log by assumption; fold p u V.
  rewrite covariance_centered_r by assumption; unfold mean.
  unfold Rminus; rewrite <- sum_opp; f_equal; apply sum_ext; intros a _.
  unfold log_softmax; fold (p a).
  replace (centered n p (fun b => u b * u b) a) with (u a * u a - V) by reflexivity.
  unfold p; ring.
Qed.

Lemma entropy_term_nonneg a : (a < n)%nat -> 0 <= - (p a * ln (p a)).
Proof.
  intros inside; pose proof (log_softmax_nonpos n z a inside) as below.
  unfold log_softmax in below; fold p in below; pose proof (positive a); nra.
Qed.

Lemma curvature_from_below :
  - quadratic_form n z d <= V * (1 + exp (- 1)) + D * ln (INR n).
Proof.
  rewrite quadratic_form_terms, Ropp_plus_distr, Ropp_involutive, <- sum_opp.
  replace (V * (1 + exp (- 1)) + D * ln (INR n))
    with (V + (D * ln (INR n) + INR n * (V * (exp (- 1) / INR n)))) by (field; lra).
  apply Rplus_le_compat_l; unfold D, dispersion; fold u V; unfold mean.
  rewrite <- sum_scal_r, <- sum_const, <- sum_plus; apply sum_le; intros a inside.
  assert (0 < exp (- 1) / INR n) as q_pos by (apply Rdiv_lt_0_compat; [apply exp_pos|assumption]).
  pose proof (entropy_term_below (p a) (exp (- 1) / INR n) (positive a) q_pos) as tangent.
  rewrite ln_div, ln_exp in tangent by (try apply exp_pos; assumption).
  pose proof (entropy_term_nonneg a inside) as own.
  assert (0 <= V) by apply variance_nonneg, nonneg.
  pose proof (Rle_0_sqr (u a)) as square; unfold Rsqr in square.
  unfold Rmax; destruct (Rle_dec 0 (V - u a * u a)) as [near|far].
  - apply Rle_trans with ((V - u a * u a) * (p a * ln (INR n) + exp (- 1) / INR n)).
    + replace (- ((u a * u a - V) * - (p a * ln (p a)))) with ((V - u a * u a) * - (p a * ln (p a))) by ring.
      apply Rmult_le_compat_l; lra.
    + assert (0 <= u a * u a * (exp (- 1) / INR n)) by (apply Rmult_le_pos; lra); lra.
  - assert (0 <= (u a * u a - V) * - (p a * ln (p a))) by (apply Rmult_le_pos; lra).
    assert (0 <= V * (exp (- 1) / INR n)) by (apply Rmult_le_pos; lra); lra.
Qed.

Lemma curvature_from_above m M :
  (forall a, (a < n)%nat -> m <= d a <= M) ->
  quadratic_form n z d <= D * (ln (INR n) + ln 8 - 2) + (M - m) ^ 2 / 8.
Proof.
  intros range; rewrite quadratic_form_terms.
  assert (D <= V) as smaller by (apply dispersion_below_variance; assumption).
  assert (D = mean n p (fun a => Rmax 0 (u a * u a - V))) as D_eq
    by (apply dispersion_above; assumption).
  apply Rle_trans with (- V + (D * (ln (INR n) + ln 8 - 1) + INR n * ((M - m) ^ 2 * (/ 8 / INR n))));
    [|apply Req_le_sym in D_eq; replace (INR n * ((M - m) ^ 2 * (/ 8 / INR n))) with ((M - m) ^ 2 / 8)
        by (field; lra); lra].
  apply Rplus_le_compat_l; rewrite D_eq; unfold mean.
  rewrite <- sum_scal_r, <- sum_const, <- sum_plus; apply sum_le; intros a inside.
  assert (0 < / 8 / INR n) as q_pos by (apply Rdiv_lt_0_compat; lra).
  pose proof (entropy_term_below (p a) (/ 8 / INR n) (positive a) q_pos) as tangent.
  rewrite ln_div, ln_Rinv in tangent by lra.
  pose proof (entropy_term_nonneg a inside) as own.
  assert (0 <= V) by apply variance_nonneg, nonneg.
  pose proof (square_centered_below_range n p d nonneg one m M a range inside) as top; fold u in top.
  pose proof (pow2_ge_0 (M - m)).
  unfold Rmax; destruct (Rle_dec 0 (u a * u a - V)) as [far|near].
  - apply Rle_trans with ((u a * u a - V) * (p a * (ln (INR n) + ln 8 - 1) + / 8 / INR n)).
    + apply Rmult_le_compat_l; lra.
    + assert (0 <= ((M - m) ^ 2 - (u a * u a - V)) * (/ 8 / INR n)) by (apply Rmult_le_pos; lra); lra.
  - assert (0 <= (V - u a * u a) * - (p a * ln (p a))) by (apply Rmult_le_pos; lra).
    assert (0 <= (M - m) ^ 2 * (/ 8 / INR n)) by (apply Rmult_le_pos; lra); lra.
Qed.

(** |H''| <= (5/8 + (1/5) log n) ||d||^2. *)
Theorem curvature_bound :
  (2 <= n)%nat ->
  Rabs (quadratic_form n z d) <= (5 / 8 + ln (INR n) / 5) * sum n (fun a => d a * d a).
Proof.
  intros many.
  pose proof (between_smallest_and_largest n d) as range.
  pose proof (spread_below_norm n d some) as norm.
  set (r := (largest n d - smallest n d) ^ 2) in *.
  set (N := sum n (fun a => d a * d a)) in *.
  pose proof (curvature_from_below) as below.
  pose proof (curvature_from_above _ _ range) as above; fold r in above.
  destruct (dispersion_sizes n p nonneg one d _ _ range) as [tenth both]; fold r V D in tenth, both.
  pose proof (variance_below_range n p d nonneg one _ _ range) as quarter; fold r V in quarter.
  assert (0 <= V) by apply variance_nonneg, nonneg.
  assert (0 <= D) by apply dispersion_nonneg, nonneg.
  pose proof exp_minus_1_below; pose proof ln_2_above; pose proof (ln_INR_above n many).
  assert (ln 2 <= 1) by (pose proof (ln_below 2); lra).
  assert (ln 8 = 3 * ln 2) as eight.
  { replace 8 with (2 ^ 3) by ring; rewrite <- Rpower_pow, ln_Rpower by lra; simpl; ring. }
  set (c := ln (INR n)) in *.
  assert ((5 / 8 + c / 5) * (r / 2) <= (5 / 8 + c / 5) * N) as larger
    by (apply Rmult_le_compat_l; lra).
  apply Rabs_le; split.
  - assert (V * (1 + exp (- 1)) <= V * (11 / 8)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= (r / 10 - D) * (c - 3 / 5)) by (apply Rmult_le_pos; lra).
    lra.
  - assert (0 <= (r / 10 - D) * (c + ln 8 - 2)) by (apply Rmult_le_pos; lra).
    assert (r * (ln 8 - 2) <= r * 1)
      by (apply Rmult_le_compat_l; [unfold r; apply pow2_ge_0|lra]).
    lra.
Qed.

End Bounds.
