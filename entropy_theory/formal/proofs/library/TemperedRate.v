(** The entropy rate F(T) of tempered REINFORCE as a function of the temperature.

    F(T) is minus a positive number times g(1/T), where g(b) = sum_{A*} e^{b (z_a - z+)} (c_a - C) does not decrease
    in b: so F changes sign at most once, from minus to plus. And T^2 F'(T) is an explicit sum, which splits at z+
    into a sum of nonnegative terms and (z+ - E_T z)(- F(T)): so F increases where it is negative and T >= 1. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Tilt Temperature TemperedReinforce
  OwnCovariance.
Open Scope R_scope.

(** g(b), from any reference y *)
Definition weighted_excess (n : nat) (z : vector) (A : mask) (y b : R) : R :=
  total_on n A (fun a => exp (b * (z a - y)) * excess n z a).

Section Rate.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : (0 < n)%nat.

Let w := excess n z.
Let top := threshold n z.
Let g := weighted_excess n z A top.

(** * One change of sign *)

Lemma rate_as_weighted_excess y T :
  0 < T ->
  rate n z A T
  = - (exp (/ T * y) / sum n (fun b => exp (z b / T))) * weighted_excess n z A y (/ T).
Proof.
  intros positive; unfold rate, weighted_excess.
  rewrite Ropp_mult_distr_l_reverse, <- total_on_scal; f_equal.
  apply total_on_ext; intros a inside _; unfold softmax, tempered.
  replace (z a / T) with (/ T * y + / T * (z a - y)) by (field; lra).
  rewrite exp_plus.
  pose proof (normalizer_pos n (fun b => z b / T) some); simpl in *; field; lra.
Qed.

(** The sign of F(T) is that of - g(1/T), whatever the reference. *)
Lemma rate_factor y T :
  0 < T -> exists k, 0 < k /\ rate n z A T = - (k * weighted_excess n z A y (/ T)).
Proof.
  intros positive; exists (exp (/ T * y) / sum n (fun b => exp (z b / T))); split.
  - apply Rdiv_lt_0_compat; [apply exp_pos|].
    apply (normalizer_pos n (fun b => z b / T) some).
  - rewrite (rate_as_weighted_excess y T positive); ring.
Qed.

Lemma rate_pos_iff y T : 0 < T -> 0 < rate n z A T <-> weighted_excess n z A y (/ T) < 0.
Proof.
  intros positive; destruct (rate_factor y T positive) as (k & k_pos & ->); split; intros; nra.
Qed.

Lemma rate_neg_iff y T : 0 < T -> rate n z A T < 0 <-> 0 < weighted_excess n z A y (/ T).
Proof.
  intros positive; destruct (rate_factor y T positive) as (k & k_pos & ->); split; intros; nra.
Qed.

Lemma term_grows a b b' :
  (a < n)%nat -> b <= b' -> exp (b * (z a - top)) * w a <= exp (b' * (z a - top)) * w a.
Proof.
  intros inside below.
  destruct (Rtotal_order (w a) 0) as [negative|[zero|positive]].
  - pose proof (below_threshold n z a inside negative) as left; fold top in left.
    assert (exp (b' * (z a - top)) <= exp (b * (z a - top))).
    { apply exp_nondecreasing; nra. }
    nra.
  - rewrite zero; lra.
  - pose proof (above_threshold n z some a inside positive) as right; fold top in right.
    assert (exp (b * (z a - top)) <= exp (b' * (z a - top))).
    { apply exp_nondecreasing; nra. }
    nra.
Qed.

Lemma term_grows_strictly a b b' :
  (a < n)%nat -> 0 < w a -> b < b' -> exp (b * (z a - top)) * w a < exp (b' * (z a - top)) * w a.
Proof.
  intros inside positive below.
  pose proof (above_threshold n z some a inside positive) as right; fold top in right.
  apply Rmult_lt_compat_r; [assumption|].
  apply exp_increasing, Rmult_lt_compat_r; lra.
Qed.

Lemma weighted_excess_le b b' : b <= b' -> g b <= g b'.
Proof. intros below; apply total_on_le; intros; apply term_grows; assumption. Qed.

Lemma weighted_excess_lt b b' a :
  (a < n)%nat -> A a = true -> 0 < w a -> b < b' -> g b < g b'.
Proof.
  intros inside correct positive below; unfold g, weighted_excess.
  apply (total_on_lt n A) with (k := a); [|assumption|assumption|].
  - intros; apply term_grows; [assumption|lra].
  - apply term_grows_strictly; assumption.
Qed.

Lemma rate_stays_positive T T' : 0 < T -> T <= T' -> 0 < rate n z A T -> 0 < rate n z A T'.
Proof.
  intros positive above rises.
  rewrite (rate_pos_iff top) in * by lra.
  assert (g (/ T') <= g (/ T)) by (apply weighted_excess_le, Rinv_le_contravar; assumption).
  unfold g in *; lra.
Qed.

Lemma rate_was_negative T T' : 0 < T -> T <= T' -> rate n z A T' < 0 -> rate n z A T < 0.
Proof.
  intros positive above falls.
  rewrite (rate_neg_iff top) in * by lra.
  assert (g (/ T') <= g (/ T)) by (apply weighted_excess_le, Rinv_le_contravar; assumption).
  unfold g in *; lra.
Qed.

(** * The slope *)

Lemma rate_as_mean T : rate n z A T = - mean n (softmax n (tempered T z)) (only A w).
Proof. unfold rate; rewrite total_on_weighted; reflexivity. Qed.

Lemma scaled_slope_as_covariance T :
  scaled_slope n z A T = covariance n (softmax n (tempered T z)) z (only A w).
Proof.
  rewrite covariance_centered_l by (apply softmax_sum, some).
  apply sum_ext; intros a _; unfold only; fold w; destruct (A a); ring.
Qed.

Lemma is_derive_rate T :
  0 < T -> is_derive (rate n z A) T (scaled_slope n z A T / (T * T)).
Proof.
  intros positive.
  apply is_derive_ext with (f := fun t => - mean n (softmax n (tempered t z)) (only A w)).
  { intros t; symmetry; apply rate_as_mean. }
  evar_last.
  - apply @is_derive_opp.
    apply (is_derive_mean n (fun t => tempered t z) (fun a => - / (T * T) * z a) T some
             (fun a _ => is_derive_tempered z T a positive) (fun _ => only A w) (fun _ => 0)).
    intros; apply @is_derive_const.
  - rewrite covariance_scal_l, <- scaled_slope_as_covariance.
    rewrite mean_const by (apply softmax_sum, some).
    unfold opp; simpl; field; lra.
Qed.

(** F'(T), in so many words. *)
Lemma derivative_rate T :
  0 < T -> derivative (rate n z A) T (scaled_slope n z A T / (T * T)).
Proof. intros positive; apply is_derive_Reals, is_derive_rate, positive. Qed.

Lemma derivative_rate_at_one : derivative (rate n z A) 1 (untempered_scaled_slope n z A).
Proof.
  replace (untempered_scaled_slope n z A) with (scaled_slope n z A 1 / (1 * 1))
    by (rewrite scaled_slope_1; field).
  apply derivative_rate; lra.
Qed.

Lemma scaled_slope_split T :
  scaled_slope n z A T
  = total_on n A (fun a => softmax n (tempered T z) a * ((z a - top) * w a))
    + (top - mean n (softmax n (tempered T z)) z) * - rate n z A T.
Proof.
  unfold rate; rewrite Ropp_involutive, <- total_on_scal, <- total_on_plus.
  apply total_on_ext; intros a _ _; unfold centered; fold w; ring.
Qed.

(** Where F(T) < 0, the sum of nonnegative terms is positive. *)
Lemma surplus_pos T :
  rate n z A T < 0 ->
  0 < total_on n A (fun a => softmax n (tempered T z) a * ((z a - top) * w a)).
Proof.
  intros falls.
  destruct (total_on_pos_exists n A (fun a => softmax n (tempered T z) a * w a))
    as (a & inside & correct & positive).
  { unfold rate in falls; fold w in falls; lra. }
  pose proof (softmax_pos n (tempered T z) a some) as weight.
  assert (0 < w a) as above by nra.
  pose proof (above_threshold n z some a inside above) as right; fold top in right.
  apply (total_on_pos_term n A _ a); [|assumption|assumption|].
  - intros b b_inside _; apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|].
    apply excess_sign; assumption.
  - apply Rmult_lt_0_compat; [assumption|nra].
Qed.

(** Where F(T) < 0, T^2 F'(T) is more than (z+ - E_T z)|F(T)|, at every temperature. *)
Lemma scaled_slope_gt T :
  rate n z A T < 0 ->
  (top - mean n (softmax n (tempered T z)) z) * - rate n z A T < scaled_slope n z A T.
Proof.
  intros falls; rewrite scaled_slope_split; pose proof (surplus_pos T falls); lra.
Qed.

Lemma mean_tempered_le_threshold T : 1 <= T -> mean n (softmax n (tempered T z)) z <= top.
Proof.
  intros hot; apply Rle_trans with (mean n (softmax n (tempered 1 z)) z).
  - apply mean_tempered_logit_le; [assumption|lra|assumption].
  - rewrite (mean_softmax_ext n (tempered 1 z) z) by (intros; apply tempered_1).
    apply mean_le_threshold, some.
Qed.

Lemma scaled_slope_pos T : 1 <= T -> rate n z A T < 0 -> 0 < scaled_slope n z A T.
Proof.
  intros hot falls.
  pose proof (scaled_slope_gt T falls); pose proof (mean_tempered_le_threshold T hot); nra.
Qed.

(** F rises above F(1) < 0 and stays above it. *)
Lemma rate_above_one T : 1 < T -> rate n z A 1 < 0 -> rate n z A 1 < rate n z A T.
Proof.
  intros hot falls.
  destruct (Rle_or_lt 0 (rate n z A T)) as [rises|negative]; [lra|].
  destruct (MVT_cor2 (rate n z A) (fun t => scaled_slope n z A t / (t * t)) 1 T hot) as (t & change & between).
  { intros t [from _]; apply derivative_rate; lra. }
  assert (rate n z A t < 0) by (apply (rate_was_negative t T); lra).
  assert (0 < scaled_slope n z A t) by (apply scaled_slope_pos; lra).
  assert (0 < scaled_slope n z A t / (t * t)) by (apply Rdiv_lt_0_compat; [assumption|nra]).
  nra.
Qed.

End Rate.
