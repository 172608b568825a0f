(** How spread out numbers are under probabilities: variance against range and norm, and the mean
    distance of u^2 from the variance.

    With u = d - E d, V = E u^2, D = E(V - u^2)_+ and r = (max d - min d)^2:

        V <= r/4,    D <= r/10,    V + D <= 8 r/27,    r <= 2 ||d||^2.

    For -a <= u <= b with a <= b, (u^2 - V)_+ lies below a square: (b^2 - V)(u + a)^2/(a + b)^2 if
    V >= a^2, and (1 - V/b^2) u^2 if V <= a^2. *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature.
Open Scope R_scope.

(** * Largest and smallest *)

Lemma between_smallest_and_largest n f a : (a < n)%nat -> smallest n f <= f a <= largest n f.
Proof. intros inside; split; [apply smallest_le, inside|apply largest_ge, inside]. Qed.

(** (max d - min d)^2 <= 2 ||d||^2: largest and smallest are two entries, or equal. *)
Lemma sum_ge_two_terms n f j k :
  (forall a, (a < n)%nat -> 0 <= f a) -> (j < n)%nat -> (k < n)%nat -> j <> k ->
  f j + f k <= sum n f.
Proof.
  induction n as [|m IH]; simpl; intros nonneg j_inside k_inside apart; [lia|].
  assert (forall a, (a < m)%nat -> 0 <= f a) as nonneg_m by auto with arith.
  assert (0 <= f m) by auto with arith.
  destruct (Nat.eq_dec j m) as [->|j_before]; [|destruct (Nat.eq_dec k m) as [->|k_before]].
  - assert (f k <= sum m f) by (apply sum_ge_term; [assumption|lia]); lra.
  - assert (f j <= sum m f) by (apply sum_ge_term; [assumption|lia]); lra.
  - assert (f j + f k <= sum m f) by (apply IH; auto; lia); lra.
Qed.

Lemma spread_below_norm n d :
  (0 < n)%nat -> (largest n d - smallest n d) ^ 2 <= 2 * sum n (fun a => d a * d a).
Proof.
  intros some.
  destruct (largest_attained n d some) as (j & j_inside & ->).
  destruct (smallest_attained n d some) as (k & k_inside & ->).
  assert (forall a, (a < n)%nat -> 0 <= d a * d a) as squares by (intros; apply Rle_0_sqr).
  destruct (Nat.eq_dec j k) as [->|apart].
  - pose proof (sum_nonneg n _ squares); replace (d k - d k) with 0 by ring; lra.
  - pose proof (sum_ge_two_terms n (fun a => d a * d a) j k squares j_inside k_inside apart) as two.
    simpl in two; pose proof (Rle_0_sqr (d j + d k)) as square; unfold Rsqr in square; nra.
Qed.

(** * Polynomial inequalities *)

Section Polynomials.

Variables a b V : R.
Hypotheses (a_nonneg : 0 <= a) (ordered : a <= b) (V_nonneg : 0 <= V).

Lemma wide_tenth :
  a * a <= V -> V <= a * b -> 10 * ((b * b - V) * (V + a * a)) <= (a + b) ^ 4.
Proof.
  intros wide below.
  destruct (Rle_dec (2 * (a * b)) (b * b - a * a)) as [far|near].
  - assert ((b * b - V) * (V + a * a) <= a * b * ((b - a) * (a + b))) as tangent.
    { assert (0 <= (b * b - a * a - 2 * (a * b)) * (a * b - V)) by (apply Rmult_le_pos; lra).
      pose proof (Rle_0_sqr (V - a * b)) as square; unfold Rsqr in square; nra. }
    assert (0 <= (a + b) ^ 3 - 10 * (a * b * (b - a))) as cubic.
    { replace ((a + b) ^ 3 - 10 * (a * b * (b - a)))
        with (b * (b - 7 / 2 * a) ^ 2 + 3 / 4 * (a * a * b) + a * a * a) by field.
      pose proof (Rmult_le_pos b _ (Rle_trans _ _ _ a_nonneg ordered) (pow2_ge_0 (b - 7 / 2 * a))).
      assert (0 <= a * a * b) by (repeat apply Rmult_le_pos; lra).
      assert (0 <= a * a * a) by (repeat apply Rmult_le_pos; lra).
      lra. }
    assert (0 <= ((a + b) ^ 3 - 10 * (a * b * (b - a))) * (a + b)) by (apply Rmult_le_pos; lra).
    replace ((a + b) ^ 4) with ((a + b) ^ 3 * (a + b)) by ring; lra.
  - set (s := a * a + b * b); set (q := 2 * (a * b)).
    assert (0 <= a * b) by (apply Rmult_le_pos; lra).
    assert (4 * ((b * b - V) * (V + a * a)) <= s * s) as top.
    { unfold s; pose proof (Rle_0_sqr (b * b - a * a - 2 * V)) as square; unfold Rsqr in square; nra. }
    assert (s * s <= 2 * (q * q)) as half.
    { replace (s * s) with ((b * b - a * a) * (b * b - a * a) + q * q) by (unfold s, q; ring).
      assert (0 <= b * b - a * a) by nra.
      assert ((b * b - a * a) * (b * b - a * a) <= q * q)
        by (apply Rmult_le_compat; unfold q; lra).
      lra. }
    assert (0 <= s) by (unfold s; nra).
    assert (0 <= q) by (unfold q; lra).
    assert (s <= 2 * q) as q_large by nra.
    assert (s * s <= 2 * (s * q)) by nra.
    replace ((a + b) ^ 4) with (s * s + 2 * (s * q) + q * q) by (unfold s, q; ring).
    lra.
Qed.

Lemma wide_both :
  V <= a * b -> 27 * ((a + b) ^ 2 * V + (b * b - V) * (V + a * a)) <= 8 * (a + b) ^ 4.
Proof.
  intros below.
  assert ((a + b) ^ 2 * V + (b * b - V) * (V + a * a) <= 2 * (a * (b * b)) * (a + b)) as top.
  { assert (0 <= (a * b - V) * (2 * (b * (a + b)) - V - a * b)); [|nra].
    apply Rmult_le_pos; [lra|]; assert (a * b <= b * (a + b)) by nra; lra. }
  assert (0 <= 4 * (a + b) ^ 3 - 27 * (a * (b * b))) as cubic.
  { replace (4 * (a + b) ^ 3 - 27 * (a * (b * b))) with ((a + 4 * b) * (2 * a - b) ^ 2) by ring.
    apply Rmult_le_pos; [lra|apply pow2_ge_0]. }
  assert (0 <= (4 * (a + b) ^ 3 - 27 * (a * (b * b))) * (a + b)) by (apply Rmult_le_pos; lra).
  replace ((a + b) ^ 4) with ((a + b) ^ 3 * (a + b)) by ring; lra.
Qed.

Lemma narrow_tenth : V <= a * a -> 10 * ((b * b - V) * V) <= b * b * (a + b) ^ 2.
Proof.
  intros narrow.
  destruct (Rle_dec (2 * (a * a)) (b * b)) as [far|near].
  - assert ((b * b - V) * V <= (b * b - a * a) * (a * a)) as top.
    { assert (0 <= (a * a - V) * (b * b - a * a - V)) by (apply Rmult_le_pos; lra); nra. }
    assert (0 <= b ^ 3 + a * b ^ 2 - 10 * (a ^ 2 * b) + 10 * a ^ 3) as cubic.
    { replace (b ^ 3 + a * b ^ 2 - 10 * (a ^ 2 * b) + 10 * a ^ 3)
        with (10 * (a * (a - 3 / 5 * b) ^ 2)
              + b * (2 * (a - 13 / 20 * b) ^ 2 + 31 / 200 * (b * b))) by field.
      assert (0 <= a * (a - 3 / 5 * b) ^ 2) by (apply Rmult_le_pos; [lra|apply pow2_ge_0]).
      assert (0 <= b * (2 * (a - 13 / 20 * b) ^ 2 + 31 / 200 * (b * b))).
      { apply Rmult_le_pos; [lra|]; pose proof (pow2_ge_0 (a - 13 / 20 * b)); nra. }
      lra. }
    assert (0 <= (b ^ 3 + a * b ^ 2 - 10 * (a ^ 2 * b) + 10 * a ^ 3) * (a + b))
      by (apply Rmult_le_pos; lra).
    replace (b * b * (a + b) ^ 2)
      with ((b ^ 3 + a * b ^ 2 - 10 * (a ^ 2 * b) + 10 * a ^ 3) * (a + b)
            + 10 * ((b * b - a * a) * (a * a))) by ring.
    lra.
  - assert (4 * ((b * b - V) * V) <= b * b * (b * b)) as top.
    { pose proof (Rle_0_sqr (b * b - 2 * V)) as square; unfold Rsqr in square; nra. }
    assert (5 * (b * b) <= 2 * (a + b) ^ 2) as close by nra.
    assert (0 <= b * b * (2 * (a + b) ^ 2 - 5 * (b * b)))
      by (apply Rmult_le_pos; [nra|lra]).
    lra.
Qed.

Lemma narrow_both : V <= a * a -> 27 * (b * b * V + (b * b - V) * V) <= 8 * (b * b * (a + b) ^ 2).
Proof.
  intros narrow.
  assert (a * a <= b * b) as squares by nra.
  assert (b * b * V + (b * b - V) * V <= 2 * (b * b) * (a * a) - a * a * (a * a)) as top.
  { assert (0 <= (a * a - V) * (2 * (b * b) - V - a * a)) by (apply Rmult_le_pos; lra); nra. }
  assert (0 <= 27 * (a * a * (a * a)) - 46 * (a * a * (b * b)) + 16 * (a * (b * b) * b)
               + 8 * (b * b * (b * b))) as quartic; [|nra].
  destruct (Rle_dec (2 * a) b) as [far|near].
  - assert (0 <= a * b) by (apply Rmult_le_pos; lra).
    assert (0 <= a * b * (b * (b - 2 * a))) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
    assert (0 <= b * b * (b * (b - a))) by (apply Rmult_le_pos; [nra|apply Rmult_le_pos; lra]).
    assert (0 <= a * a * (a * a)) by nra.
    nra.
  - assert (0 <= (a * a - 17 / 25 * (b * b)) ^ 2) by apply pow2_ge_0.
    assert (0 <= b * b * ((b - a) * (2 * a - b)))
      by (apply Rmult_le_pos; [nra|apply Rmult_le_pos; lra]).
    assert (0 <= b * b * (b * (2 * a - b)))
      by (apply Rmult_le_pos; [nra|apply Rmult_le_pos; lra]).
    assert (0 <= b * b * (b * b)) by nra.
    nra.
Qed.

End Polynomials.

(** * Under probabilities *)

Section Probabilities.

Variables (n : nat) (p d : vector).
Hypothesis nonneg : forall a, (a < n)%nat -> 0 <= p a.
Hypothesis one : sum n p = 1.

Let u := centered n p d.
Let V := covariance n p d d.

Lemma mean_between m M :
  (forall a, (a < n)%nat -> m <= d a <= M) -> m <= mean n p d <= M.
Proof.
  intros range; split.
  - rewrite <- (mean_const n p m one); apply mean_le; [assumption|apply range].
  - rewrite <- (mean_const n p M one); apply mean_le; [assumption|apply range].
Qed.

(** Var(d) = (M - E d)(E d - m) - E[(M - d)(d - m)] for any numbers m and M. *)
Lemma variance_below_range_product m M :
  (forall a, (a < n)%nat -> m <= d a <= M) ->
  V <= (M - mean n p d) * (mean n p d - m).
Proof.
  intros range.
  assert (0 <= mean n p (fun a => (M - d a) * (d a - m))) as product.
  { apply mean_nonneg; [assumption|]; intros a inside; specialize (range a inside).
    apply Rmult_le_pos; lra. }
  rewrite (mean_ext n p _ (fun a => (M + m) * d a - d a * d a - M * m)) in product by (intros; ring).
  rewrite !mean_minus, mean_scal, mean_const in product by assumption.
  unfold V; rewrite covariance_eq by assumption.
  ring_simplify; ring_simplify in product; lra.
Qed.

Lemma variance_below_range m M :
  (forall a, (a < n)%nat -> m <= d a <= M) -> 4 * V <= (M - m) ^ 2.
Proof.
  intros range; pose proof (variance_below_range_product m M range).
  pose proof (pow2_ge_0 (M + m - 2 * mean n p d)); nra.
Qed.

Lemma square_centered_below_range m M a :
  (forall a, (a < n)%nat -> m <= d a <= M) -> (a < n)%nat -> u a * u a <= (M - m) ^ 2.
Proof.
  intros range inside; pose proof (mean_between m M range).
  specialize (range a inside); unfold u, centered; nra.
Qed.

(** D = E(V - u^2)_+. *)
Definition dispersion := mean n p (fun a => Rmax 0 (V - u a * u a)).

Lemma dispersion_nonneg : 0 <= dispersion.
Proof. apply mean_nonneg; [assumption|intros; apply Rmax_l]. Qed.

Lemma dispersion_below_variance : dispersion <= V.
Proof.
  rewrite <- (mean_const n p V one); apply mean_le; [assumption|intros a inside].
  apply Rmax_lub; [apply variance_nonneg, nonneg|].
  pose proof (Rle_0_sqr (u a)) as square; unfold Rsqr in square; lra.
Qed.

(** Both parts of u^2 - V have the same mean. *)
Lemma dispersion_above : dispersion = mean n p (fun a => Rmax 0 (u a * u a - V)).
Proof.
  assert (mean n p (fun a => V - u a * u a) = 0) as balanced.
  { rewrite mean_minus, mean_const by assumption; unfold V, u; rewrite variance_of_centered; ring. }
  unfold dispersion.
  rewrite (mean_ext n p (fun a => Rmax 0 (V - u a * u a))
             (fun a => (V - u a * u a) + Rmax 0 (u a * u a - V))).
  - rewrite mean_plus, balanced; ring.
  - intros a _; unfold Rmax; destruct (Rle_dec 0 (V - u a * u a)), (Rle_dec 0 (u a * u a - V)); lra.
Qed.

End Probabilities.

Section Sizes.

Variables (n : nat) (p : vector).
Hypothesis nonneg : forall a, (a < n)%nat -> 0 <= p a.
Hypothesis one : sum n p = 1.

(** The case in which the range reaches farther above the mean than below it. *)
Lemma dispersion_sizes_skewed d a b :
  0 <= a -> a <= b -> 0 < b ->
  (forall k, (k < n)%nat -> - a <= centered n p d k <= b) ->
  10 * dispersion n p d <= (a + b) ^ 2 /\
  27 * (covariance n p d d + dispersion n p d) <= 8 * (a + b) ^ 2.
Proof.
  intros a_nonneg ordered b_pos range.
  set (V := covariance n p d d); set (D := dispersion n p d); set (u := centered n p d) in *.
  assert (0 <= V) as V_nonneg by (apply variance_nonneg, nonneg).
  assert (0 <= D) as D_nonneg by (apply dispersion_nonneg, nonneg).
  assert (mean n p u = 0) as no_drift by (apply mean_centered, one).
  assert (V = mean n p (fun k => u k * u k)) as V_eq by reflexivity.
  assert (D = mean n p (fun k => Rmax 0 (u k * u k - V))) as D_eq by (apply dispersion_above; assumption).
  assert (V <= a * b) as below.
  { assert (covariance n p u u <= (b - mean n p u) * (mean n p u - - a)) as product
      by (apply variance_below_range_product; assumption).
    rewrite covariance_eq, no_drift, <- V_eq in product by assumption; lra. }
  assert (a * b <= b * b) as area by (apply Rmult_le_compat_r; lra).
  assert (0 < (a + b) ^ 2) as r_pos by (apply pow_lt; lra).
  destruct (Rle_dec (a * a) V) as [wide|narrow].
  - assert ((a + b) ^ 2 * D <= (b * b - V) * (V + a * a)) as average.
    { replace (V + a * a) with (mean n p (fun k => (u k + a) ^ 2)).
      - rewrite D_eq, <- !mean_scal; apply mean_le; [assumption|intros k inside].
        specialize (range k inside).
        apply Rmax_case; [rewrite Rmult_0_r; apply Rmult_le_pos; [lra|apply pow2_ge_0]|].
        assert (0 <= (b - u k) * ((V + a * a + 2 * (a * b)) * (u k + a) + (a + b) * (V - a * a))) as gap.
        { assert (0 <= a * b) by (apply Rmult_le_pos; lra).
          apply Rmult_le_pos; [lra|apply Rplus_le_le_0_compat; apply Rmult_le_pos; nra]. }
        replace ((a + b) ^ 2 * (u k * u k - V))
          with ((b * b - V) * (u k + a) ^ 2
                - (b - u k) * ((V + a * a + 2 * (a * b)) * (u k + a) + (a + b) * (V - a * a))) by ring.
        lra.
      - rewrite (mean_ext n p _ (fun k => u k * u k + 2 * a * u k + a * a)) by (intros; ring).
        rewrite !mean_plus, mean_scal, mean_const, no_drift by assumption; rewrite V_eq; ring. }
    pose proof (wide_tenth a b V a_nonneg ordered V_nonneg wide below).
    pose proof (wide_both a b V a_nonneg ordered below).
    split; apply Rmult_le_reg_l with (1 := r_pos); nra.
  - assert (b * b * D <= (b * b - V) * V) as average.
    { rewrite V_eq at 2; rewrite D_eq, <- !mean_scal.
      apply mean_le; [assumption|intros k inside].
      specialize (range k inside).
      assert (0 <= u k * u k) by nra.
      apply Rmax_case; [rewrite Rmult_0_r; apply Rmult_le_pos; lra|].
      assert (u k * u k <= b * b) by nra.
      nra. }
    assert (V <= a * a) as small by lra.
    pose proof (narrow_tenth a b V a_nonneg ordered small).
    pose proof (narrow_both a b V a_nonneg ordered small).
    assert (0 < b * b) as b2_pos by nra.
    split; apply Rmult_le_reg_l with (1 := b2_pos); nra.
Qed.

Lemma centered_opp d k : centered n p (fun j => - d j) k = - centered n p d k.
Proof. unfold centered; rewrite mean_opp; ring. Qed.

(** The sizes of V and D against the range; u and -u have the same. *)
Lemma dispersion_sizes d m M :
  (forall k, (k < n)%nat -> m <= d k <= M) ->
  10 * dispersion n p d <= (M - m) ^ 2 /\
  27 * (covariance n p d d + dispersion n p d) <= 8 * (M - m) ^ 2.
Proof.
  intros range.
  pose proof (mean_between n p d nonneg one m M range) as inside.
  destruct (Req_dec m M) as [flat|apart].
  { pose proof (variance_below_range n p d nonneg one m M range).
    pose proof (dispersion_below_variance n p d nonneg one).
    replace (M - m) with 0 in * by lra; simpl in *; lra. }
  destruct (Rle_dec (mean n p d - m) (M - mean n p d)) as [up|down].
  - replace (M - m) with ((mean n p d - m) + (M - mean n p d)) by ring.
    apply dispersion_sizes_skewed; [lra|lra|lra|].
    intros k k_inside; specialize (range k k_inside); unfold centered; lra.
  - replace (M - m) with ((M - mean n p d) + (mean n p d - m)) by ring.
    assert (covariance n p d d = covariance n p (fun k => - d k) (fun k => - d k)) as same_variance.
    { apply mean_ext; intros; rewrite centered_opp; ring. }
    assert (dispersion n p d = dispersion n p (fun k => - d k)) as same_dispersion.
    { unfold dispersion; rewrite <- same_variance; apply mean_ext; intros; rewrite centered_opp.
      f_equal; ring. }
    rewrite same_variance, same_dispersion.
    apply dispersion_sizes_skewed; [lra|lra|lra|].
    intros k k_inside; specialize (range k k_inside); rewrite centered_opp; unfold centered; lra.
Qed.

End Sizes.
