(** Inequalities that bounds rest on: Cauchy-Schwarz for finite sums, the entropy of two outcomes
    against p (1 - p), the entropy of an event, the variance of bounded values, and the bound of a
    log-moment by the squared range. *)

From Coq Require Import Reals Lra Lia Psatz List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

(** * Functions with a sign of the derivative *)

Lemma nondecreasing_of_derivative (f g : R -> R) a b :
  a <= b ->
  (forall x, a <= x <= b -> is_derive f x (g x)) ->
  (forall x, a <= x <= b -> 0 <= g x) ->
  f a <= f b.
Proof.
  intros ordered slope nonneg.
  destruct (MVT_gen f a b g) as [c [between same]].
  - rewrite Rmin_left, Rmax_right by assumption; intros x inside; apply slope; lra.
  - rewrite Rmin_left, Rmax_right by assumption; intros x inside.
    apply continuity_pt_filterlim, (ex_derive_continuous f).
    exists (g x); apply slope, inside.
  - rewrite Rmin_left, Rmax_right in between by assumption.
    assert (0 <= g c * (b - a)) by (apply Rmult_le_pos; [apply nonneg, between|lra]).
    lra.
Qed.

(** * Sums *)

Lemma sum_nonneg_zero n f :
  (forall a, (a < n)%nat -> 0 <= f a) -> sum n f = 0 -> forall a, (a < n)%nat -> f a = 0.
Proof.
  intros nonneg zero a inside.
  pose proof (sum_ge_term n f a nonneg inside); specialize (nonneg a inside); lra.
Qed.

Lemma abs_sum_le n f : Rabs (sum n f) <= sum n (fun a => Rabs (f a)).
Proof.
  induction n as [|k IH]; simpl; [rewrite Rabs_R0; lra|].
  eapply Rle_trans; [apply Rabs_triang|lra].
Qed.

(** Cauchy-Schwarz, from the sum over pairs of (f_a g_b - f_b g_a)^2. *)
Lemma cauchy_schwarz n f g :
  Rsqr (sum n (fun a => f a * g a)) <= sum n (fun a => Rsqr (f a)) * sum n (fun a => Rsqr (g a)).
Proof.
  assert (0 <= sum n (fun a => sum n (fun b => Rsqr (f a * g b - f b * g a)))) as pairs.
  { apply sum_nonneg; intros; apply sum_nonneg; intros; apply Rle_0_sqr. }
  assert (sum n (fun a => sum n (fun b => Rsqr (f a * g b - f b * g a))) =
          2 * (sum n (fun a => Rsqr (f a)) * sum n (fun a => Rsqr (g a)))
          - 2 * Rsqr (sum n (fun a => f a * g a))) as expanded.
  { transitivity (sum n (fun a => Rsqr (f a) * sum n (fun b => Rsqr (g b))
                                  + Rsqr (g a) * sum n (fun b => Rsqr (f b))
                                  - 2 * (f a * g a) * sum n (fun b => f b * g b))).
    - apply sum_ext; intros a _.
      rewrite <- !sum_scal, <- sum_plus, <- sum_minus.
      apply sum_ext; intros b _; unfold Rsqr; ring.
    - rewrite sum_minus, sum_plus, !sum_scal_r, sum_scal; unfold Rsqr; ring. }
  lra.
Qed.

(** The form for a plain sum: (f_1 + ... + f_n)^2 <= n (f_1^2 + ... + f_n^2). *)
Lemma square_of_sum n f : Rsqr (sum n f) <= INR n * sum n (fun a => Rsqr (f a)).
Proof.
  pose proof (cauchy_schwarz n (fun _ => 1) f) as bound; cbv beta in bound.
  rewrite (sum_const n (Rsqr 1)) in bound.
  rewrite (sum_ext n (fun a => 1 * f a) f) in bound by (intros; ring).
  unfold Rsqr in *; lra.
Qed.

(** For numbers >= 0 the sum of squares is at most the square of the sum. *)
Lemma sum_of_squares_le n f :
  (forall a, (a < n)%nat -> 0 <= f a) -> sum n (fun a => Rsqr (f a)) <= Rsqr (sum n f).
Proof.
  induction n as [|k IH]; simpl; intros nonneg; [unfold Rsqr; lra|].
  assert (sum k (fun a => Rsqr (f a)) <= Rsqr (sum k f)) by (apply IH; auto with arith).
  assert (0 <= sum k f) by (apply sum_nonneg; auto with arith).
  assert (0 <= f k) by auto with arith.
  unfold Rsqr in *; nra.
Qed.

(** * Parts of a sum *)

Lemma only_split A f a : f a = only A f a + only (complement A) f a.
Proof. unfold only, complement; destruct (A a); simpl; ring. Qed.

Lemma total_on_split n A f : sum n f = total_on n A f + total_on n (complement A) f.
Proof. unfold total_on; rewrite <- sum_plus; apply sum_ext; intros; apply only_split. Qed.

Lemma total_on_nonneg n A f :
  (forall a, (a < n)%nat -> 0 <= f a) -> 0 <= total_on n A f.
Proof.
  intros nonneg; apply sum_nonneg; intros a inside; unfold only.
  destruct (A a); [apply nonneg, inside|lra].
Qed.

Lemma total_on_le_sum n A f :
  (forall a, (a < n)%nat -> 0 <= f a) -> total_on n A f <= sum n f.
Proof.
  intros nonneg; rewrite (total_on_split n A f).
  pose proof (total_on_nonneg n (complement A) f nonneg); lra.
Qed.

Lemma total_on_ge_term n A f a :
  (forall b, (b < n)%nat -> 0 <= f b) -> (a < n)%nat -> A a = true -> f a <= total_on n A f.
Proof.
  intros nonneg inside here.
  replace (f a) with (only A f a) by (unfold only; rewrite here; reflexivity).
  apply sum_ge_term; [|assumption].
  intros b b_inside; unfold only; destruct (A b); [apply nonneg, b_inside|lra].
Qed.

Lemma total_on_le n A f g :
  (forall a, (a < n)%nat -> A a = true -> f a <= g a) -> total_on n A f <= total_on n A g.
Proof.
  intros below; apply sum_le; intros a inside; unfold only.
  destruct (A a) eqn:here; [apply below; assumption|lra].
Qed.

Lemma total_on_scal_r n A f c : total_on n A (fun a => f a * c) = total_on n A f * c.
Proof.
  unfold total_on; rewrite <- sum_scal_r; apply sum_ext; intros; unfold only.
  destruct (A a); ring.
Qed.

(** * Logarithms *)

Lemma ln_le_increasing x y : 0 < x -> x <= y -> ln x <= ln y.
Proof.
  intros positive [strict|same]; [apply Rlt_le, ln_increasing; assumption|subst; lra].
Qed.

Lemma ln_le_minus_one x : 0 < x -> ln x <= x - 1.
Proof.
  intros positive; pose proof (exp_ineq1_le (ln x)) as above.
  rewrite exp_ln in above by assumption; lra.
Qed.

Lemma ln_nonpos x : 0 < x -> x <= 1 -> ln x <= 0.
Proof. intros; pose proof (ln_le_minus_one x); lra. Qed.

Lemma ln_2_pos : 0 < ln 2.
Proof. rewrite <- ln_1; apply ln_increasing; lra. Qed.

(** 1/2 <= log 2, as log (1/2) <= 1/2 - 1. *)
Lemma ln_2_above_half : / 2 <= ln 2.
Proof. pose proof (ln_le_minus_one (/ 2)) as bound; rewrite ln_Rinv in bound; lra. Qed.

(** * The entropy of two outcomes

    With x = 1 - 2p the inequality is g(x) <= x^2 log 2 for
    g(x) = ((1 + x) log (1 + x) + (1 - x) log (1 - x)) / 2, and g(x)/x^2 increases to log 2. *)

Local Definition depth (x : R) := ((1 + x) * ln (1 + x) + (1 - x) * ln (1 - x)) / 2.
(** x g'(x) - 2 g(x), which has the sign of the slope of g(x)/x^2, and its derivative. *)
Local Definition climb (x : R) := - (1 + x / 2) * ln (1 + x) - (1 - x / 2) * ln (1 - x).
Local Definition climb_slope (x : R) := x / (1 - x * x) - (ln (1 + x) - ln (1 - x)) / 2.

Local Lemma climb_slope_nonneg x : 0 <= x < 1 -> 0 <= climb_slope x.
Proof.
  intros range.
  replace 0 with (climb_slope 0)
    by (unfold climb_slope; rewrite Rplus_0_r, Rminus_0_r, ln_1; field).
  apply (nondecreasing_of_derivative climb_slope
           (fun t => 2 * (t * t) / ((1 - t * t) * (1 - t * t)))); [lra| |].
  - intros t inside; assert (0 < 1 - t * t) by nra.
    unfold climb_slope; auto_derive; [repeat split; lra|field; repeat split; nra].
  - intros t inside; assert (0 < 1 - t * t) by nra.
    apply Rmult_le_pos; [nra|apply Rlt_le, Rinv_0_lt_compat; nra].
Qed.

Local Lemma climb_nonneg x : 0 <= x < 1 -> 0 <= climb x.
Proof.
  intros range.
  replace 0 with (climb 0) by (unfold climb; rewrite Rplus_0_r, Rminus_0_r, ln_1; field).
  apply (nondecreasing_of_derivative climb climb_slope); [lra| |].
  - intros t inside; assert (0 < 1 - t * t) by nra.
    unfold climb, climb_slope, Rminus; auto_derive; [repeat split; lra|field; repeat split; nra].
  - intros t inside; apply climb_slope_nonneg; lra.
Qed.

Local Lemma depth_over_square x y : 0 < x -> x <= y -> y < 1 ->
  depth x / (x * x) <= depth y / (y * y).
Proof.
  intros positive ordered below.
  apply (nondecreasing_of_derivative (fun t => depth t / (t * t))
           (fun t => climb t / (t * t * t))); [lra| |].
  - intros t inside; unfold depth, climb, Rminus; auto_derive; [repeat split; nra|field; lra].
  - intros t inside; apply Rmult_le_pos; [apply climb_nonneg; lra|].
    apply Rlt_le, Rinv_0_lt_compat; repeat apply Rmult_lt_0_compat; lra.
Qed.

Local Lemma depth_le x : 0 < x < 1 -> depth x <= ln 2 * (x * x).
Proof.
  intros range; pose proof ln_2_pos.
  assert (0 < x * x) by nra.
  assert (forall y, x <= y < 1 -> depth x * (y * y) <= ln 2 * (x * x)) as each.
  { intros y inside.
    assert (depth y <= ln 2) as at_most.
    { assert (ln (1 + y) <= ln 2) by (apply ln_le_increasing; lra).
      assert (ln (1 - y) <= 0) by (apply ln_nonpos; lra).
      assert (0 <= ln (1 + y)) by (rewrite <- ln_1; apply ln_le_increasing; lra).
      unfold depth; nra. }
    assert (0 < y * y) by nra.
    assert (depth x / (x * x) <= ln 2 / (y * y)) as ratio.
    { eapply Rle_trans; [apply (depth_over_square x y); lra|].
      apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|assumption]. }
    apply (Rmult_le_compat_r (x * x * (y * y))) in ratio; [|nra].
    replace (depth x / (x * x) * (x * x * (y * y))) with (depth x * (y * y)) in ratio
      by (field; lra).
    replace (ln 2 / (y * y) * (x * x * (y * y))) with (ln 2 * (x * x)) in ratio
      by (field; lra).
    exact ratio. }
  (* If it failed, y near 1 would contradict the bound for y. *)
  destruct (Rle_or_lt (depth x) (ln 2 * (x * x))) as [|fails]; [assumption|exfalso].
  set (gap := depth x - ln 2 * (x * x)).
  assert (0 < gap) by (unfold gap; lra).
  assert (0 < depth x) by nra.
  pose (e := Rmin (1 - x) (gap / (4 * depth x))).
  assert (0 < gap / (4 * depth x)) by (apply Rdiv_lt_0_compat; lra).
  assert (0 < e <= 1 - x) as [e_pos e_small]
    by (split; [apply Rmin_glb_lt; lra|apply Rmin_l]).
  assert (e * (4 * depth x) <= gap) as e_gap.
  { replace gap with (gap / (4 * depth x) * (4 * depth x)) by (field; lra).
    apply Rmult_le_compat_r; [lra|apply Rmin_r]. }
  specialize (each (1 - e) ltac:(lra)).
  unfold gap in *; nra.
Qed.

Lemma binary_entropy_sym p : binary_entropy (1 - p) = binary_entropy p.
Proof. unfold binary_entropy; replace (1 - (1 - p)) with p by ring; ring. Qed.

(** h(p) >= 4 log 2 p (1 - p). *)
Theorem binary_entropy_lower p : 0 <= p <= 1 -> 4 * ln 2 * (p * (1 - p)) <= binary_entropy p.
Proof.
  assert (forall q, 0 <= q <= 1 / 2 -> 4 * ln 2 * (q * (1 - q)) <= binary_entropy q) as half.
  { intros q range.
    destruct (Req_dec q 0) as [->|not_0].
    { unfold binary_entropy; rewrite Rminus_0_r, ln_1; lra. }
    destruct (Req_dec q (1 / 2)) as [->|not_half].
    { unfold binary_entropy; replace (1 - 1 / 2) with (/ 2) by field.
      replace (1 / 2) with (/ 2) by field; rewrite ln_Rinv by lra; lra. }
    pose proof (depth_le (1 - 2 * q) ltac:(lra)) as bound.
    unfold depth in bound.
    replace (1 + (1 - 2 * q)) with (2 * (1 - q)) in bound by ring.
    replace (1 - (1 - 2 * q)) with (2 * q) in bound by ring.
    rewrite !ln_mult in bound by lra.
    unfold binary_entropy; nra. }
  intros range; destruct (Rle_or_lt p (1 / 2)) as [low|high]; [apply half; lra|].
  rewrite <- binary_entropy_sym; pose proof (half (1 - p)); nra.
Qed.

(** * The entropy of an event *)

(** H(pi) >= h(pi(A)): knowing whether A happened leaves an entropy that is not negative. *)
Theorem entropy_of_event n z A :
  (0 < n)%nat -> binary_entropy (total_on n A (softmax n z)) <= entropy n z.
Proof.
  intros some; set (p := softmax n z); set (P := total_on n A p).
  assert (forall a, (a < n)%nat -> 0 <= p a) as nonneg
    by (intros; apply Rlt_le, softmax_pos, some).
  assert (1 - P = total_on n (complement A) p) as rest.
  { pose proof (total_on_split n A p) as split.
    unfold p in split at 1; rewrite softmax_sum in split by exact some; fold P in split; lra. }
  assert (forall B, total_on n B p * ln (total_on n B p)
                    >= total_on n B (fun a => p a * ln (p a))) as part.
  { intros B; rewrite <- total_on_scal_r; apply Rle_ge, total_on_le; intros a inside here.
    apply Rmult_le_compat_l; [apply nonneg, inside|].
    apply ln_le_increasing; [apply softmax_pos, some|].
    apply total_on_ge_term; assumption. }
  unfold entropy; fold p.
  rewrite (total_on_split n A (fun a => p a * ln (p a))).
  pose proof (part A); pose proof (part (complement A)).
  unfold binary_entropy; rewrite rest at 1 2; fold P in H; lra.
Qed.

(** * Bounded values *)

(** Popoviciu: the variance of values between lo and hi is at most (hi - lo)^2/4. *)
Lemma variance_of_bounded n p u lo hi :
  sum n p = 1 -> (forall a, (a < n)%nat -> 0 <= p a) ->
  (forall a, (a < n)%nat -> lo <= u a <= hi) ->
  covariance n p u u <= Rsqr (hi - lo) / 4.
Proof.
  intros one nonneg range.
  assert (mean n p (fun a => (hi - u a) * (u a - lo)) >= 0) as outside.
  { apply Rle_ge, mean_nonneg; [assumption|intros a inside; specialize (range a inside); nra]. }
  rewrite (mean_ext _ _ _ (fun a => (hi + lo) * u a - u a * u a - hi * lo)) in outside
    by (intros; ring).
  rewrite !mean_minus, mean_scal, mean_const in outside by assumption.
  rewrite covariance_eq by assumption.
  pose proof (Rle_0_sqr (mean n p u - (hi + lo) / 2)); unfold Rsqr in *; nra.
Qed.

(** Hoeffding: log E e^u <= E u + (hi - lo)^2/8. *)
Theorem log_moment_le n p u lo hi :
  (0 < n)%nat -> sum n p = 1 -> (forall a, (a < n)%nat -> 0 < p a) ->
  (forall a, (a < n)%nat -> lo <= u a <= hi) ->
  ln (mean n p (fun a => exp (u a))) <= mean n p u + Rsqr (hi - lo) / 8.
Proof.
  intros some one positive range.
  (* Along z(t) = log p + t u the log-normalizer has the slope E_t u, whose slope is Var_t u. *)
  pose (z := fun t a => ln (p a) + t * u a).
  assert (forall t a, (a < n)%nat -> is_derive (fun s => z s a) t (u a)) as moves.
  { intros t a _; unfold z; auto_derive; [trivial|ring]. }
  pose (psi := fun t => ln (sum n (fun a => exp (z t a)))).
  pose (tilted := fun t => mean n (softmax n (z t)) u).
  assert (forall a, (a < n)%nat -> exp (z 0 a) = p a) as start.
  { intros a inside; unfold z; rewrite Rmult_0_l, Rplus_0_r; apply exp_ln, positive, inside. }
  assert (psi 0 = 0) as psi_0.
  { unfold psi; rewrite (sum_ext _ _ p start), one; apply ln_1. }
  assert (tilted 0 = mean n p u) as tilted_0.
  { unfold tilted, softmax; rewrite (sum_ext _ _ p start), one.
    apply sum_ext; intros a inside; rewrite start by assumption; field. }
  assert (psi 1 = ln (mean n p (fun a => exp (u a)))) as psi_1.
  { unfold psi, mean; f_equal; apply sum_ext; intros a inside; unfold z.
    rewrite Rmult_1_l, exp_plus, exp_ln by auto; reflexivity. }
  set (c := Rsqr (hi - lo) / 4).
  assert (forall t, 0 <= t -> tilted t <= tilted 0 + c * t) as slope.
  { intros t nonneg.
    enough (c * 0 - tilted 0 <= c * t - tilted t) by lra.
    apply (nondecreasing_of_derivative (fun s => c * s - tilted s)
             (fun s => c - covariance n (softmax n (z s)) u u)); [assumption| |].
    - intros s _; apply @is_derive_minus; [auto_derive; [trivial|ring]|].
      evar_last.
      + apply (is_derive_mean n z u s some (moves s) (fun _ => u) (fun _ => 0)).
        intros; apply @is_derive_const.
      + rewrite mean_const by (apply softmax_sum, some); simpl; ring.
    - intros s _; enough (covariance n (softmax n (z s)) u u <= c) by lra.
      apply variance_of_bounded; [apply softmax_sum, some| |assumption].
      intros; apply Rlt_le, softmax_pos, some. }
  enough (tilted 0 * 0 + c / 2 * (0 * 0) - psi 0 <= tilted 0 * 1 + c / 2 * (1 * 1) - psi 1)
    by (rewrite psi_0, psi_1, tilted_0 in *; unfold c in *; lra).
  apply (nondecreasing_of_derivative (fun t => tilted 0 * t + c / 2 * (t * t) - psi t)
           (fun t => tilted 0 + c * t - tilted t)); [lra| |].
  - intros t _; apply @is_derive_minus; [auto_derive; [trivial|field]|].
    apply (is_derive_log_normalizer n z u t some (moves t)).
  - intros t inside; specialize (slope t ltac:(lra)); lra.
Qed.

(** Gibbs: E_p log(q/p) <= 0, the divergence of p from q is not negative. *)
Lemma gibbs n p q :
  sum n p = 1 -> sum n q = 1 ->
  (forall a, (a < n)%nat -> 0 < p a) -> (forall a, (a < n)%nat -> 0 < q a) ->
  mean n p (fun a => ln (q a)) <= mean n p (fun a => ln (p a)).
Proof.
  intros one_p one_q pos_p pos_q.
  enough (mean n p (fun a => ln (q a) - ln (p a)) <= 0) by (rewrite mean_minus in *; lra).
  apply Rle_trans with (sum n (fun a => q a - p a)); [|rewrite sum_minus; lra].
  apply sum_le; intros a inside; specialize (pos_p a inside); specialize (pos_q a inside).
  rewrite <- ln_div by assumption.
  assert (0 < q a / p a) as ratio by (apply Rdiv_lt_0_compat; assumption).
  pose proof (ln_le_minus_one _ ratio) as bound.
  apply (Rmult_le_compat_l (p a)) in bound; [|lra].
  replace (p a * (q a / p a - 1)) with (q a - p a) in bound by (field; lra); exact bound.
Qed.
