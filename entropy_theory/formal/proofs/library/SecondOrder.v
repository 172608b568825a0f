(** The second order of the entropy change, with a bound on what is left:

        |H(z + d) - H(z) + Cov(log pi, d) - H''/2| <= (2 + 7 log n) rho^3/24,    rho = max d - min d,

    because |H'''| <= (1/2 + (7/4) H) rho^3 at every policy; and what follows for constants in a bound on the
    remainder of the first order: none is below the curvature. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics Masks Taylor Curvature Spread CurvatureBounds EntropyChange.
Open Scope R_scope.

(** E|log pi + H| <= 2 H, so that log pi + H has a small mean product with what varies little. *)
Lemma mean_depth_below n z f c r :
  (0 < n)%nat -> 0 <= r ->
  (forall a, (a < n)%nat -> c - r <= f a <= c + r) ->
  Rabs (mean n (softmax n z) (fun a => (log_softmax n z a + entropy n z) * f a)) <= 2 * entropy n z * r.
Proof.
  intros some nonneg near; set (p := softmax n z); set (H := entropy n z); set (L := log_softmax n z).
  assert (sum n p = 1) as one by apply softmax_sum, some.
  assert (mean n p L = - H) as average by (unfold H; rewrite entropy_log; fold p L; ring).
  assert (forall a, (a < n)%nat -> 0 <= p a) as p_nonneg by (intros; apply Rlt_le, softmax_pos, some).
  assert (0 <= H) as H_nonneg by apply entropy_nonneg.
  replace (mean n p (fun a => (L a + H) * f a)) with (mean n p (fun a => (L a + H) * (f a - c))).
  2: { rewrite (mean_ext n p _ (fun a => (L a + H) * f a - c * (L a + H))) by (intros; ring).
       rewrite mean_minus, mean_scal, mean_plus, mean_const, average by assumption; ring. }
  replace (2 * H * r) with (mean n p (fun a => (- L a + H) * r)).
  2: { rewrite mean_scal_r, mean_plus, mean_opp, mean_const, average by assumption; ring. }
  assert (forall a, (a < n)%nat -> - ((- L a + H) * r) <= (L a + H) * (f a - c) <= (- L a + H) * r) as each.
  { intros a inside; specialize (near a inside).
    assert (L a <= 0) as shallow by (apply log_softmax_nonpos; assumption).
    assert (0 <= - L a * (r - (f a - c))) by (apply Rmult_le_pos; lra).
    assert (0 <= - L a * (r + (f a - c))) by (apply Rmult_le_pos; lra).
    assert (0 <= H * (r - (f a - c))) by (apply Rmult_le_pos; lra).
    assert (0 <= H * (r + (f a - c))) by (apply Rmult_le_pos; lra).
    split; lra. }
  apply Rabs_le; split.
  - rewrite <- mean_opp; apply mean_le; [assumption|apply each].
  - apply mean_le; [assumption|apply each].
Qed.

Section SecondOrder.

Variables (n : nat) (z d : vector).
Hypothesis some : (0 < n)%nat.

Lemma third_derivative_bound t m M :
  (forall a, (a < n)%nat -> m <= d a <= M) ->
  Rabs (third_derivative n z d t) <= (1 / 2 + 7 / 4 * entropy n (line z d t)) * (M - m) ^ 3.
Proof.
  intros range; unfold third_derivative.
  set (y := line z d t); set (p := softmax n y); set (u := centered n p d); set (H := entropy n y).
  assert (sum n p = 1) as one by apply softmax_sum, some.
  assert (forall a, (a < n)%nat -> 0 <= p a) as p_nonneg by (intros; apply Rlt_le, softmax_pos, some).
  pose proof (mean_between n p d p_nonneg one m M range) as inside_range.
  set (a := mean n p d - m); set (b := M - mean n p d); set (rho := M - m).
  assert (rho = a + b) as width by (unfold rho, a, b; ring).
  assert (0 <= a) as a_nonneg by (unfold a; lra).
  assert (0 <= b) as b_nonneg by (unfold b; lra).
  assert (forall k, (k < n)%nat -> - a <= u k <= b) as u_range.
  { intros k inside; specialize (range k inside); unfold u, centered, a, b; lra. }
  assert (0 <= H) as H_nonneg by apply entropy_nonneg.
  set (V := covariance n p d d).
  assert (0 <= V) as V_nonneg by apply variance_nonneg, p_nonneg.
  assert (4 * V <= rho ^ 2) as V_below by (apply variance_below_range; assumption).
  assert (V = mean n p (fun k => u k * u k)) as V_eq by reflexivity.
  assert (Rabs (mean n p (fun k => u k * u k * u k)) <= rho * V) as cubes.
  { rewrite V_eq, <- mean_scal; apply Rabs_le; split.
    - rewrite <- mean_opp; apply mean_le; [assumption|intros k inside; specialize (u_range k inside)].
      pose proof (Rle_0_sqr (u k)) as square; unfold Rsqr in square.
      assert (0 <= u k * u k * (rho + u k)) by (apply Rmult_le_pos; lra); lra.
    - apply mean_le; [assumption|intros k inside; specialize (u_range k inside)].
      pose proof (Rle_0_sqr (u k)) as square; unfold Rsqr in square.
      assert (0 <= u k * u k * (rho - u k)) by (apply Rmult_le_pos; lra); lra. }
  assert (Rabs (mean n p (fun k => (log_softmax n y k + H) * u k)) <= 2 * H * (rho / 2)) as cross.
  { apply (mean_depth_below n y u ((b - a) / 2)); [assumption|lra|].
    intros k inside; specialize (u_range k inside); lra. }
  assert (Rabs (mean n p (fun k => (log_softmax n y k + H) * (u k * u k * u k)))
          <= 2 * H * (rho ^ 3 / 2)) as joint.
  { apply (mean_depth_below n y (fun k => u k * u k * u k) ((b ^ 3 - a ^ 3) / 2)); [assumption| |].
    - assert (0 <= rho ^ 3) by (apply pow_le; lra); lra.
    - intros k inside; specialize (u_range k inside).
      assert (a ^ 3 + b ^ 3 <= rho ^ 3) as radius.
      { rewrite width; replace ((a + b) ^ 3) with (a ^ 3 + b ^ 3 + 3 * (a * b * (a + b))) by ring.
        assert (0 <= a * b * (a + b)) by (repeat apply Rmult_le_pos; lra); lra. }
      assert (- a ^ 3 <= u k * u k * u k) as low.
      { assert (0 <= (u k + a) * ((u k - a / 2) ^ 2 + 3 / 4 * a ^ 2)); [|lra].
        apply Rmult_le_pos; [lra|].
        pose proof (pow2_ge_0 (u k - a / 2)); pose proof (pow2_ge_0 a); lra. }
      assert (u k * u k * u k <= b ^ 3) as high.
      { assert (0 <= (b - u k) * ((u k + b / 2) ^ 2 + 3 / 4 * b ^ 2)); [|lra].
        apply Rmult_le_pos; [lra|].
        pose proof (pow2_ge_0 (u k + b / 2)); pose proof (pow2_ge_0 b); lra. }
      lra. }
  assert (0 <= rho) as rho_nonneg by lra.
  assert (Rabs (3 * mean n p (fun k => (log_softmax n y k + H) * u k) * V) <= 3 / 4 * (H * rho ^ 3)) as product.
  { rewrite !Rabs_mult, (Rabs_pos_eq 3), (Rabs_pos_eq V) by lra.
    apply Rle_trans with (3 * (H * rho) * (rho ^ 2 / 4)); [|right; field].
    apply Rmult_le_compat; [|lra| |lra].
    - apply Rmult_le_pos; [lra|apply Rabs_pos].
    - lra. }
  assert (rho * V <= rho ^ 3 / 4) as small.
  { replace (rho ^ 3 / 4) with (rho * (rho ^ 2 / 4)) by field.
    apply Rmult_le_compat_l; lra. }
  apply Rabs_le_between in cubes; apply Rabs_le_between in cross.
  apply Rabs_le_between in joint; apply Rabs_le_between in product.
  apply Rabs_le; lra.
Qed.

Lemma quadratic_form_line_start : quadratic_form n (line z d 0) d = quadratic_form n z d.
Proof. apply quadratic_form_ext; intros; apply line_start. Qed.

Theorem second_order_error m M :
  (forall a, (a < n)%nat -> m <= d a <= M) ->
  Rabs (entropy_change n z d + covariance n (softmax n z) (log_softmax n z) d - quadratic_form n z d / 2)
  <= (2 + 7 * ln (INR n)) * (M - m) ^ 3 / 24.
Proof.
  intros range; unfold entropy_change.
  rewrite <- (entropy_line_start n z d), <- (entropy_line_end n z d), <- (slope_line_start n z d),
    <- quadratic_form_line_start.
  replace ((2 + 7 * ln (INR n)) * (M - m) ^ 3 / 24)
    with ((1 / 2 + 7 / 4 * ln (INR n)) * (M - m) ^ 3 / 6) by field.
  match goal with |- Rabs (?end1 - ?start + ?slope - ?second) <= _ =>
    replace (end1 - start + slope - second) with (end1 - start - - slope - second) by ring end.
  apply (taylor_3 (fun t => entropy n (line z d t))
           (fun t => - covariance n (softmax n (line z d t)) (log_softmax n (line z d t)) d)
           (fun t => quadratic_form n (line z d t) d) (third_derivative n z d)).
  - intros t _; apply is_derive_entropy_along_line, some.
  - intros t _; apply is_derive_slope_line, some.
  - intros t _; apply is_derive_curvature_line, some.
  - intros t _; apply Rle_trans with (1 := third_derivative_bound t m M range).
    apply Rmult_le_compat_r.
    + apply pow_le; specialize (range 0%nat some); lra.
    + pose proof (entropy_below_log n (line z d t) some); lra.
Qed.

End SecondOrder.

(** A constant that bounds the remainder of the first order for all small steps bounds the curvature. *)
Theorem constant_above_curvature n z d K :
  (0 < n)%nat ->
  (forall t, 0 < t <= 1 ->
     Rabs (entropy_change n z (fun a => t * d a)
           + covariance n (softmax n z) (log_softmax n z) (fun a => t * d a)) <= t ^ 2 * K / 2) ->
  Rabs (quadratic_form n z d) <= K.
Proof.
  intros some bound.
  set (rho := largest n d - smallest n d).
  set (C := (2 + 7 * ln (INR n)) * rho ^ 3 / 24).
  assert (forall t, 0 < t <= 1 -> Rabs (quadratic_form n z d) <= K + 2 * C * t) as near.
  { intros t inside; specialize (bound t inside).
    assert (forall a, (a < n)%nat -> t * smallest n d <= t * d a <= t * largest n d) as range.
    { intros a a_inside; pose proof (between_smallest_and_largest n d a a_inside).
      split; apply Rmult_le_compat_l; lra. }
    pose proof (second_order_error n z (fun a => t * d a) some _ _ range) as second.
    assert (quadratic_form n z (fun a => t * d a) = t ^ 2 * quadratic_form n z d) as scaled.
    { unfold quadratic_form; set (p := softmax n z).
      assert (forall a, centered n p (fun b => t * d b) a * centered n p (fun b => t * d b) a
                        = t ^ 2 * (centered n p d a * centered n p d a)) as squares
        by (intros; unfold centered; rewrite mean_scal; ring).
      rewrite (mean_ext n p _ _ (fun a _ => squares a)), mean_scal.
      rewrite (covariance_ext n p z _ z _ (fun a _ => eq_refl) (fun a _ => squares a)), covariance_scal_r; ring. }
    rewrite scaled in second.
    replace ((2 + 7 * ln (INR n)) * (t * largest n d - t * smallest n d) ^ 3 / 24) with (t ^ 2 * (C * t)) in second
      by (unfold C, rho; field).
    apply Rmult_le_reg_l with (t ^ 2 / 2); [assert (0 < t ^ 2) by (apply pow_lt; lra); lra|].
    replace (t ^ 2 / 2 * Rabs (quadratic_form n z d)) with (Rabs (t ^ 2 * quadratic_form n z d / 2)).
    2: { unfold Rdiv; rewrite !Rabs_mult, (Rabs_pos_eq (t ^ 2)), (Rabs_pos_eq (/ 2)) by (try apply pow2_ge_0; lra).
         ring. }
    apply Rabs_le_between in bound; apply Rabs_le_between in second; apply Rabs_le; lra. }
  assert (0 <= C) as C_nonneg.
  { unfold C; pose proof (ln_INR_nonneg n some).
    pose proof (between_smallest_and_largest n d 0 some).
    assert (0 <= (2 + 7 * ln (INR n)) * rho ^ 3) by (apply Rmult_le_pos; [lra|apply pow_le; unfold rho; lra]).
    lra. }
  apply le_epsilon; intros e e_pos.
  assert (0 < 2 * C + e) by lra.
  specialize (near (e / (2 * C + e))).
  assert (0 < e / (2 * C + e) <= 1) as small.
  { split; [apply Rdiv_lt_0_compat; lra|].
    apply Rmult_le_reg_r with (2 * C + e); [assumption|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. }
  specialize (near small).
  assert (2 * C * (e / (2 * C + e)) <= e); [|lra].
  apply Rmult_le_reg_r with (2 * C + e); [assumption|].
  replace (2 * C * (e / (2 * C + e)) * (2 * C + e)) with (2 * C * e) by (field; lra).
  assert (0 <= e * e) by (apply Rmult_le_pos; lra); lra.
Qed.
