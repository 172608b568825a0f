(** Functions of one real variable: monotone by the sign of their derivative, and the inequalities
    between exponentials that follow. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

Lemma mean_value (f df : R -> R) a b :
  a < b -> (forall x, a <= x <= b -> is_derive f x (df x)) ->
  exists c, a < c < b /\ f b - f a = df c * (b - a).
Proof.
  intros below slope.
  destruct (MVT_cor2 f df a b below) as (c & change & inside).
  - intros x inside; apply is_derive_Reals, slope, inside.
  - exists c; auto.
Qed.

Lemma nondecreasing_by_slope (f df : R -> R) a b :
  a <= b -> (forall x, a <= x <= b -> is_derive f x (df x)) ->
  (forall x, a < x < b -> 0 <= df x) -> f a <= f b.
Proof.
  intros below slope nonneg; destruct (Rle_lt_or_eq_dec _ _ below) as [strict| ->]; [|lra].
  destruct (mean_value f df a b strict slope) as (c & inside & change).
  assert (0 <= df c * (b - a)) by (apply Rmult_le_pos; [auto|lra]); lra.
Qed.

Lemma increasing_by_slope (f df : R -> R) a b :
  a < b -> (forall x, a <= x <= b -> is_derive f x (df x)) ->
  (forall x, a < x < b -> 0 < df x) -> f a < f b.
Proof.
  intros strict slope positive.
  destruct (mean_value f df a b strict slope) as (c & inside & change).
  assert (0 < df c * (b - a)) by (apply Rmult_lt_0_compat; [auto|lra]); lra.
Qed.

(** A bounded slope bounds the change. *)
Lemma lipschitz_by_slope (f df : R -> R) c a b :
  (forall x, Rmin a b <= x <= Rmax a b -> is_derive f x (df x)) ->
  (forall x, Rmin a b <= x <= Rmax a b -> Rabs (df x) <= c) ->
  Rabs (f b - f a) <= c * Rabs (b - a).
Proof.
  assert (forall u v, u < v -> (forall x, u <= x <= v -> is_derive f x (df x)) ->
            (forall x, u <= x <= v -> Rabs (df x) <= c) ->
            Rabs (f v - f u) <= c * Rabs (v - u)) as ordered.
  { intros u v strict slope bound.
    destruct (mean_value f df u v strict slope) as (x & inside & ->).
    rewrite Rabs_mult; apply Rmult_le_compat_r; [apply Rabs_pos|apply bound; lra]. }
  intros slope bound; destruct (Rtotal_order a b) as [less|[same|more]].
  - rewrite Rmin_left, Rmax_right in slope, bound by lra; apply ordered; assumption.
  - subst; rewrite !Rminus_eq_0, Rabs_R0; lra.
  - rewrite Rmin_right, Rmax_left in slope, bound by lra.
    rewrite (Rabs_minus_sym (f b)), (Rabs_minus_sym b); apply ordered; assumption.
Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof.
  intros below; destruct (Rle_lt_or_eq_dec _ _ below) as [strict| ->]; [|lra].
  apply Rlt_le, exp_increasing, strict.
Qed.

Lemma exp_ge_1 x : 0 <= x -> 1 <= exp x.
Proof. intros nonneg; rewrite <- exp_0; apply exp_le, nonneg. Qed.

Lemma exp_gt_1 x : 0 < x -> 1 < exp x.
Proof. intros positive; rewrite <- exp_0; apply exp_increasing, positive. Qed.

Lemma exp_le_1 x : x <= 0 -> exp x <= 1.
Proof. intros nonpos; rewrite <- exp_0; apply exp_le, nonpos. Qed.

Lemma exp_lt_1 x : x < 0 -> exp x < 1.
Proof. intros negative; rewrite <- exp_0; apply exp_increasing, negative. Qed.

(** tanh(x/2) < x/2, without the division: e^x - 1 < (e^x + 1) x/2. *)
Lemma tanh_below x : 0 < x -> exp x - 1 < (exp x + 1) * (x / 2).
Proof.
  intros positive.
  assert ((exp 0 + 1) * (0 / 2) - (exp 0 - 1) < (exp x + 1) * (x / 2) - (exp x - 1)) as increases.
  { apply (increasing_by_slope (fun t => (exp t + 1) * (t / 2) - (exp t - 1))
             (fun t => (exp t * (t - 1) + 1) / 2)); [assumption| |].
    - intros t _; auto_derive; [trivial|field].
    - intros t (t_pos & _).
      pose proof (exp_ineq1 (- t) ltac:(lra)) as above.
      assert (exp t * (1 + - t) < exp t * exp (- t)) as scaled
        by (apply Rmult_lt_compat_l; [apply exp_pos|assumption]).
      rewrite <- exp_plus, Rplus_opp_r, exp_0 in scaled; lra. }
  rewrite exp_0 in increases; lra.
Qed.

Lemma tanh_at_most x : 0 <= x -> exp x - 1 <= (exp x + 1) * (x / 2).
Proof.
  intros nonneg; destruct (Rle_lt_or_eq_dec _ _ nonneg) as [positive|<-].
  - apply Rlt_le, tanh_below, positive.
  - rewrite exp_0; lra.
Qed.

(** e^x + e^{-x} >= 2 + x^2, twice cosh x >= 1 + x^2/2. *)
Lemma cosh_at_least x : 2 + x * x <= exp x + exp (- x).
Proof.
  assert (forall t, 0 <= t -> 2 * t <= exp t - exp (- t)) as sinh.
  { intros t nonneg.
    assert (exp 0 - exp (- 0) - 2 * 0 <= exp t - exp (- t) - 2 * t) as grows.
    { apply (nondecreasing_by_slope (fun s => exp s - exp (- s) - 2 * s)
               (fun s => exp s + exp (- s) - 2)); [assumption| |].
      - intros s _; auto_derive; [trivial|ring].
      - intros s _; pose proof (exp_pos (s / 2)); pose proof (exp_pos (- (s / 2))).
        assert (exp s = exp (s / 2) * exp (s / 2)) as up by (rewrite <- exp_plus; f_equal; field).
        assert (exp (- s) = exp (- (s / 2)) * exp (- (s / 2))) as down
          by (rewrite <- exp_plus; f_equal; field).
        assert (exp (s / 2) * exp (- (s / 2)) = 1) as one
          by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
        pose proof (Rle_0_sqr (exp (s / 2) - exp (- (s / 2)))) as square; unfold Rsqr in square; lra. }
    rewrite Ropp_0, exp_0 in grows; lra. }
  assert (forall t, 0 <= t -> 2 + t * t <= exp t + exp (- t)) as right_half.
  { intros t nonneg.
    assert (exp 0 + exp (- 0) - 0 * 0 <= exp t + exp (- t) - t * t) as grows.
    { apply (nondecreasing_by_slope (fun s => exp s + exp (- s) - s * s)
               (fun s => exp s - exp (- s) - 2 * s)); [assumption| |].
      - intros s _; auto_derive; [trivial|ring].
      - intros s (s_pos & _); pose proof (sinh s ltac:(lra)); lra. }
    rewrite Ropp_0, exp_0 in grows; lra. }
  destruct (Rle_dec 0 x) as [nonneg|negative].
  - apply right_half, nonneg.
  - pose proof (right_half (- x) ltac:(lra)) as bound; rewrite Ropp_involutive in bound; lra.
Qed.
