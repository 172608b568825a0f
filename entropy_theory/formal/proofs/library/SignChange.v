(** Where F(T) changes sign: bounds from the numbers w_a = c_a - C on A* alone.

    S is the sum of w over A*, W that of its negative parts, R the range of the correct logits, D the distance from the
    largest correct logit down to the nearest one with w < 0. The names of the definitions are those of
    [entropy_theory/claims/aepo/sign_change.py]. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Tilt TemperedReinforce OwnCovariance
  TemperedRate.
Open Scope R_scope.

(** S *)
Definition sum_of_excess (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (excess n logits).
(** max_{A*} c - C *)
Definition largest_excess (n : nat) (logits : vector) (correct : mask) : R :=
  largest_on n correct (excess n logits).
(** W *)
Definition missing (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => Rmax (- excess n logits a) 0).
(** T |S| - R W, where S < 0 *)
Definition hot_enough (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - temperature * sum_of_excess n logits correct
  - (largest_on n correct logits - smallest_on n correct logits) * missing n logits correct.
(** D *)
Definition distance (n : nat) (logits : vector) (correct : mask) : R :=
  largest_on n correct logits
  - largest n (fun a =>
      if correct a && less (excess n logits a) 0 then logits a else smallest_on n correct logits).
(** max_{A*} w - W e^{-D/T} *)
Definition cold_enough (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  largest_excess n logits correct
  - missing n logits correct * exp (- distance n logits correct / temperature).
(** 1 where every action is correct, else -1. *)
Definition all_correct (n : nat) (correct : mask) : R :=
  if some_on n (complement correct) then -1 else 1.

Lemma everything_iff n A : everything n A <-> some_on n (complement A) = false.
Proof.
  split; intros all.
  - destruct (some_on n (complement A)) eqn:wrong; [|reflexivity].
    apply some_on_spec in wrong; destruct wrong as (a & inside & wrong).
    unfold complement in wrong; rewrite (all a inside) in wrong; discriminate.
  - intros a inside; pose proof (some_on_empty n (complement A) all a inside) as right.
    unfold complement in right; destruct (A a); [reflexivity|discriminate].
Qed.

(** The likeliest action of a policy that is not uniform has c > C. *)
Lemma largest_excess_pos n z :
  (0 < n)%nat -> 0 < largest n z - smallest n z -> exists a, (a < n)%nat /\ 0 < excess n z a.
Proof.
  intros some range.
  destruct (largest_attained n z some) as (t & t_inside & top).
  destruct (smallest_attained n z some) as (s & s_inside & bottom).
  exists t; split; [assumption|].
  assert (mean n (softmax n z) z < z t) as above.
  { rewrite <- (mean_const n (softmax n z) (z t)) by (apply softmax_sum, some).
    apply (sum_lt n _ _ s); [|assumption|].
    - intros a inside; apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, some|].
      pose proof (largest_ge n z a inside); lra.
    - apply Rmult_lt_compat_l; [apply softmax_pos, some|lra]. }
  assert (mean n (softmax n z) (own_covariance n z)
          < mean n (softmax n z) (fun _ => own_covariance n z t)) as below.
  { assert (0 < own_covariance n z t) as positive.
    { unfold own_covariance, centered; apply Rmult_lt_0_compat; [apply softmax_pos, some|lra]. }
    assert (forall a, (a < n)%nat -> own_covariance n z a <= own_covariance n z t) as largest_own.
    { intros a inside; destruct (Rlt_or_le (z a) (mean n (softmax n z) z)) as [low|high].
      - pose proof (own_covariance_neg n z some a low); lra.
      - apply own_covariance_le; [assumption|assumption|].
        pose proof (largest_ge n z a inside); lra. }
    (* Its c is negative, so that it counts less than the largest in C. *)
    assert (smallest n z < mean n (softmax n z) z) as under.
    { rewrite <- (mean_const n (softmax n z) (smallest n z)) at 1 by (apply softmax_sum, some).
      apply (sum_lt n _ _ t); [|assumption|].
      - intros a inside; apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, some|].
        apply smallest_le; assumption.
      - apply Rmult_lt_compat_l; [apply softmax_pos, some|lra]. }
    apply (sum_lt n _ _ s); [|assumption|].
    - intros a inside; apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, some|apply largest_own, inside].
    - apply Rmult_lt_compat_l; [apply softmax_pos, some|].
      pose proof (own_covariance_neg n z some s ltac:(lra)); lra. }
  rewrite mean_const in below by (apply softmax_sum, some).
  rewrite excess_eq; lra.
Qed.

Section SignChange.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : (0 < n)%nat.
Hypothesis some_correct : nonempty n A.

Let w := excess n z.

Lemma missing_nonneg : 0 <= missing n z A.
Proof. apply total_on_nonneg; intros; apply Rmax_r. Qed.

Lemma span_nonneg : 0 <= largest_on n A z - smallest_on n A z.
Proof.
  destruct some_correct as (a & inside & correct).
  pose proof (largest_on_ge n A z a inside correct); pose proof (smallest_on_le n A z a inside correct); lra.
Qed.

Lemma weighted_excess_0 y : weighted_excess n z A y 0 = sum_of_excess n z A.
Proof.
  apply total_on_ext; intros; replace (0 * (z a - y)) with 0 by ring; rewrite exp_0; ring.
Qed.

(** F(T) > 0 needs S < 0. *)
Lemma rise_needs_sum T : 0 < T -> 0 < rate n z A T -> sum_of_excess n z A < 0.
Proof.
  intros positive rises; rewrite (rate_pos_iff n z A some (threshold n z)) in rises by assumption.
  rewrite <- (weighted_excess_0 (threshold n z)).
  assert (0 < / T) by (apply Rinv_0_lt_compat, positive).
  pose proof (weighted_excess_le n z A some 0 (/ T) ltac:(lra)); lra.
Qed.

(** F(T) < 0 needs a correct action with c > C. *)
Lemma fall_needs_excess T : 0 < T -> rate n z A T < 0 -> 0 < largest_excess n z A.
Proof.
  intros positive falls; rewrite (rate_neg_iff n z A some (threshold n z)) in falls by assumption.
  destruct (total_on_pos_exists n A _ falls) as (a & inside & correct & term); simpl in term.
  pose proof (exp_pos (/ T * (z a - threshold n z))).
  assert (0 < excess n z a) by nra.
  pose proof (largest_on_ge n A (excess n z) a inside correct); unfold largest_excess; lra.
Qed.

Lemma exp_opp_bounds x : 0 <= x -> 1 - x <= exp (- x) <= 1.
Proof.
  intros nonneg; split.
  - destruct (Req_dec x 0) as [->|other]; [rewrite Ropp_0, exp_0; lra|].
    pose proof (exp_ineq1 (- x) ltac:(lra)); lra.
  - rewrite <- exp_0; apply exp_nondecreasing; lra.
Qed.

Lemma hot_rises T : 0 < T -> 0 < hot_enough n z A T -> 0 < rate n z A T.
Proof.
  intros positive hot; unfold hot_enough in hot.
  set (top := largest_on n A z) in *; set (span := top - smallest_on n A z) in *.
  rewrite (rate_pos_iff n z A some top) by assumption.
  assert (0 < / T) as cold by (apply Rinv_0_lt_compat, positive).
  assert (weighted_excess n z A top (/ T)
          <= sum_of_excess n z A + / T * span * missing n z A) as bound.
  { unfold sum_of_excess, missing; rewrite <- total_on_scal, <- total_on_plus.
    apply total_on_le; intros a inside correct; fold w.
    pose proof (largest_on_ge n A z a inside correct) as below; fold top in below.
    pose proof (smallest_on_le n A z a inside correct) as above.
    set (x := / T * (top - z a)).
    assert (0 <= x) as x_nonneg by (unfold x; apply Rmult_le_pos; lra).
    assert (x <= / T * span) as x_le by (unfold x, span; apply Rmult_le_compat_l; lra).
    replace (/ T * (z a - top)) with (- x) by (unfold x; ring).
    destruct (exp_opp_bounds x x_nonneg) as [low high].
    unfold Rmax; destruct (Rle_dec (- w a) 0) as [sign|sign]; nra. }
  assert (T * (sum_of_excess n z A + / T * span * missing n z A)
          = - (- T * sum_of_excess n z A - span * missing n z A)) as scaled by (field; lra).
  nra.
Qed.

(** The likeliest correct action has the largest excess, if that is positive. *)
Lemma top_excess :
  0 < largest_excess n z A ->
  exists t, (t < n)%nat /\ A t = true /\ z t = largest_on n A z /\ largest_excess n z A <= w t.
Proof.
  intros positive.
  destruct (largest_on_attained n A z some_correct) as (t & t_inside & t_correct & is_top).
  destruct (largest_on_attained n A w some_correct) as (a & inside & correct & is_most).
  unfold largest_excess in *; fold w in positive |- *.
  exists t; repeat split; [assumption|assumption|symmetry; assumption|].
  pose proof (largest_on_ge n A z a inside correct) as below.
  pose proof (average_nonneg n z some) as nonneg.
  assert (mean n (softmax n z) z < z a) by (apply own_covariance_pos; [assumption|];
    unfold w in *; rewrite excess_eq in *; lra).
  rewrite is_most; unfold w; rewrite !excess_eq.
  pose proof (own_covariance_le n z some a t ltac:(lra) ltac:(lra)); lra.
Qed.

Lemma cold_falls T : 0 < T -> 0 < cold_enough n z A T -> rate n z A T < 0.
Proof.
  intros positive cold; unfold cold_enough in cold.
  set (far := exp (- distance n z A / T)) in *.
  assert (0 < far) as far_pos by apply exp_pos.
  pose proof missing_nonneg as nonneg.
  destruct top_excess as (t & t_inside & t_correct & is_top & most); [nra|].
  set (top := largest_on n A z) in *.
  rewrite (rate_neg_iff n z A some top) by assumption.
  assert (0 < / T) as inverse by (apply Rinv_0_lt_compat, positive).
  assert (forall a, (a < n)%nat -> A a = true ->
            0 <= exp (/ T * (z a - top)) * w a + far * Rmax (- w a) 0) as terms.
  { intros a inside correct.
    pose proof (exp_pos (/ T * (z a - top))) as factor.
    destruct (Rle_or_lt 0 (w a)) as [up|down].
    - pose proof (Rmax_r (- w a) 0); nra.
    - rewrite Rmax_left by lra.
      enough (exp (/ T * (z a - top)) <= far) by nra.
      apply exp_nondecreasing.
      pose proof (largest_ge n (fun b => if A b && less (excess n z b) 0 then z b else smallest_on n A z)
                    a inside) as near; simpl in near.
      assert (less (excess n z a) 0 = true) as below by (apply less_true; exact down).
      rewrite correct, below in near; simpl in near.
      assert (z a - top <= - distance n z A) by (unfold distance; fold top; lra).
      unfold Rdiv; rewrite (Rmult_comm _ (/ T)); apply Rmult_le_compat_l; lra. }
  assert (w t <= weighted_excess n z A top (/ T) + far * missing n z A) as bound; [|nra].
  unfold weighted_excess, missing; rewrite <- total_on_scal, <- total_on_plus; fold w.
  apply Rle_trans with (only A (fun a => exp (/ T * (z a - top)) * w a + far * Rmax (- w a) 0) t).
  - unfold only; rewrite t_correct, is_top.
    replace (/ T * (top - top)) with 0 by ring; rewrite exp_0.
    pose proof (Rmax_r (- w t) 0); nra.
  - apply (sum_ge_term n (only A (fun a => exp (/ T * (z a - top)) * w a + far * Rmax (- w a) 0)));
      [|assumption].
    intros a inside; unfold only; destruct (A a) eqn:correct; [apply terms; assumption|lra].
Qed.

(** * From T = 1 *)

Lemma everything_rate_1 : everything n A -> rate n z A 1 = 0.
Proof.
  intros all; rewrite rate_1; unfold untempered_rate; rewrite total_on_everything by assumption.
  pose proof (mean_excess n z some) as zero; unfold mean in zero; rewrite zero; ring.
Qed.

(** Unless c = C on all of A*, F is positive above any temperature with F >= 0. *)
Lemma rise_continues T T' :
  0 < T -> T < T' -> 0 < largest_on n A (fun a => Rabs (w a)) ->
  0 <= rate n z A T -> 0 < rate n z A T'.
Proof.
  intros positive hotter differs rises.
  apply (rate_pos_iff n z A some (threshold n z)); [lra|].
  assert (weighted_excess n z A (threshold n z) (/ T) <= 0) as start.
  { apply Rnot_lt_le; intros falls; apply (rate_neg_iff n z A some) in falls; lra. }
  assert (/ T' < / T) as colder by (apply Rinv_lt_contravar; [nra|assumption]).
  destruct (Rlt_or_le 0 (largest_on n A w)) as [up|down].
  - destruct (largest_on_attained n A w some_correct) as (a & inside & correct & is_most).
    pose proof (weighted_excess_lt n z A some (/ T') (/ T) a inside correct ltac:(fold w; lra) colder); lra.
  - destruct (largest_on_attained n A (fun a => Rabs (w a)) some_correct) as (a & inside & correct & is_most).
    rewrite is_most in differs.
    unfold weighted_excess; rewrite <- (total_on_zero n A); fold w.
    apply (total_on_lt n A) with (k := a); [|assumption|assumption|].
    + intros b b_inside b_correct; pose proof (largest_on_ge n A w b b_inside b_correct).
      pose proof (exp_pos (/ T' * (z b - threshold n z))); nra.
    + pose proof (largest_on_ge n A w a inside correct).
      pose proof (exp_pos (/ T' * (z a - threshold n z))).
      assert (w a <> 0) by (intros zero; rewrite zero, Rabs_R0 in differs; lra).
      nra.
Qed.

Lemma fall_continues T T' :
  0 < T' -> T' < T -> 0 < largest_on n A (fun a => Rabs (w a)) ->
  rate n z A T <= 0 -> rate n z A T' < 0.
Proof.
  intros positive colder differs falls.
  destruct (Rlt_or_le (rate n z A T') 0) as [fine|rises]; [assumption|].
  pose proof (rise_continues T' T positive colder differs rises); lra.
Qed.

End SignChange.
