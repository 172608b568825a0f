(** The policy given that the action is one of a set A, such as the right answers, and the rate F(T) there.

    q = softmax of the logits on A, zero elsewhere. For every q that is not uniform on A, F(T) has the sign of
    T - 1: as sum_A q (c - C) = 0, and (z_a - t)(c_a - C) >= 0 on A for one threshold t, the sum
    g(b) = sum_A e^{b (z_a - t)} (c_a - C) increases in b = 1/T and vanishes at b = 1. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Groups Monotone.
Open Scope R_scope.

(** q *)
Definition conditional (n : nat) (z : vector) (A : mask) : vector :=
  fun a => only A (fun b => exp (z b)) a / total_on n A (fun b => exp (z b)).
(** H(q) *)
Definition conditional_entropy (n : nat) (z : vector) (A : mask) : R :=
  - total_on n A (fun a => conditional n z A a * ln (conditional n z A a)).
(** F(T) of the conditional policy, when all its actions are right. *)
Definition conditional_rate (n : nat) (z : vector) (A : mask) (temperature : R) : R :=
  let q := conditional n z A in
  - total_on n A (fun a => conditional n (tempered temperature z) A a
                           * centered n q (fun b => q b * centered n q z b) a).

Definition uniform_on (n : nat) (A : mask) (z : vector) : Prop :=
  forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> z a = z b.

(** * The conditional policy *)

Section Conditional.

Variables (n : nat) (A : mask).
Hypothesis some : nonempty n A.

Lemma weight_pos z : 0 < total_on n A (fun b => exp (z b)).
Proof. apply total_on_pos; [exact some|intros; apply exp_pos]. Qed.

Lemma conditional_in z a : A a = true -> conditional n z A a = exp (z a) / total_on n A (fun b => exp (z b)).
Proof. intros chosen; unfold conditional; rewrite only_in by assumption; reflexivity. Qed.

Lemma conditional_out z a : A a = false -> conditional n z A a = 0.
Proof. intros out; unfold conditional; rewrite only_out by assumption; unfold Rdiv; ring. Qed.

Lemma conditional_pos z a : A a = true -> 0 < conditional n z A a.
Proof.
  intros chosen; rewrite conditional_in by assumption.
  apply Rdiv_lt_0_compat; [apply exp_pos|apply weight_pos].
Qed.

Lemma conditional_nonneg z a : 0 <= conditional n z A a.
Proof.
  destruct (A a) eqn:chosen; [apply Rlt_le, conditional_pos, chosen|].
  rewrite conditional_out by assumption; lra.
Qed.

Lemma conditional_total z : total_on n A (conditional n z A) = 1.
Proof.
  pose proof (weight_pos z).
  rewrite (total_on_ext n A _ (fun a => exp (z a) / total_on n A (fun b => exp (z b))))
    by (intros; apply conditional_in; assumption).
  rewrite total_on_div; field; lra.
Qed.

Lemma mean_conditional z f :
  mean n (conditional n z A) f = total_on n A (fun a => conditional n z A a * f a).
Proof.
  apply sum_ext; intros a inside; unfold only.
  destruct (A a) eqn:chosen; [reflexivity|rewrite conditional_out by assumption; ring].
Qed.

Lemma conditional_sum z : sum n (conditional n z A) = 1.
Proof.
  rewrite <- (conditional_total z); apply sum_ext; intros a inside; unfold only.
  destruct (A a) eqn:chosen; [reflexivity|apply conditional_out, chosen].
Qed.

Lemma conditional_le_1 z a : (a < n)%nat -> conditional n z A a <= 1.
Proof.
  intros inside; rewrite <- (conditional_sum z).
  apply sum_ge_term; [intros; apply conditional_nonneg|assumption].
Qed.

(** q_a = q_b e^{z_a - z_b} *)
Lemma conditional_ratio z a b :
  A a = true -> A b = true -> conditional n z A a = conditional n z A b * exp (z a - z b).
Proof.
  intros a_chosen b_chosen; rewrite !conditional_in by assumption.
  pose proof (weight_pos z); unfold Rminus; rewrite exp_plus, exp_Ropp.
  pose proof (exp_pos (z b)); field; split; lra.
Qed.

Lemma conditional_le z a b :
  A b = true -> z a <= z b -> conditional n z A a <= conditional n z A b.
Proof.
  intros b_chosen below; destruct (A a) eqn:a_chosen.
  - rewrite (conditional_ratio z a b) by assumption.
    pose proof (conditional_pos z b b_chosen); pose proof (exp_le_1 (z a - z b) ltac:(lra)).
    rewrite <- (Rmult_1_r (conditional n z A b)) at 2; apply Rmult_le_compat_l; lra.
  - rewrite conditional_out by assumption; apply conditional_nonneg.
Qed.

Lemma conditional_lt z a b :
  A b = true -> z a < z b -> conditional n z A a < conditional n z A b.
Proof.
  intros b_chosen below; destruct (A a) eqn:a_chosen.
  - rewrite (conditional_ratio z a b) by assumption.
    pose proof (conditional_pos z b b_chosen); pose proof (exp_lt_1 (z a - z b) ltac:(lra)).
    rewrite <- (Rmult_1_r (conditional n z A b)) at 2; apply Rmult_lt_compat_l; lra.
  - rewrite conditional_out by assumption; apply conditional_pos, b_chosen.
Qed.

(** pi_a = p q_a on A *)
Lemma softmax_conditional z a :
  A a = true -> softmax n z a = total_on n A (softmax n z) * conditional n z A a.
Proof.
  intros chosen; rewrite conditional_in by assumption.
  unfold softmax; rewrite total_on_div.
  pose proof (weight_pos z); pose proof (normalizer_pos n z (nonempty_inhabited n A some)).
  field; split; lra.
Qed.

(** Only the logits on A matter. *)
Lemma conditional_ext z y a :
  (forall b, (b < n)%nat -> A b = true -> z b = y b) -> (a < n)%nat ->
  conditional n z A a = conditional n y A a.
Proof.
  intros same inside; unfold conditional.
  rewrite (total_on_ext n A (fun b => exp (z b)) (fun b => exp (y b)))
    by (intros; rewrite same; auto).
  f_equal; unfold only; destruct (A a) eqn:chosen; [rewrite same; auto|reflexivity].
Qed.

(** * Covariances under q *)

(** Chebyshev's sum inequality: the order matters on A only. *)
Lemma conditional_covariance_nonneg z f g :
  (forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true ->
     0 <= (f a - f b) * (g a - g b)) ->
  0 <= covariance n (conditional n z A) f g.
Proof.
  intros ordered; apply Rmult_le_reg_l with 2; [lra|].
  rewrite Rmult_0_r, covariance_pairs by apply conditional_sum.
  apply sum_nonneg; intros a a_inside; apply sum_nonneg; intros b b_inside.
  destruct (A a) eqn:a_chosen; [|rewrite (conditional_out z a) by assumption; lra].
  destruct (A b) eqn:b_chosen; [|rewrite (conditional_out z b) by assumption; lra].
  apply Rmult_le_pos; [apply Rmult_le_pos; apply conditional_nonneg|auto].
Qed.

Lemma conditional_covariance_pos z f g a b :
  (forall d e, (d < n)%nat -> (e < n)%nat -> A d = true -> A e = true ->
     0 <= (f d - f e) * (g d - g e)) ->
  (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> 0 < (f a - f b) * (g a - g b) ->
  0 < covariance n (conditional n z A) f g.
Proof.
  intros ordered a_inside b_inside a_chosen b_chosen strict.
  apply Rmult_lt_reg_l with 2; [lra|].
  rewrite Rmult_0_r, covariance_pairs by apply conditional_sum.
  assert (forall d e, (d < n)%nat -> (e < n)%nat ->
            0 <= conditional n z A d * conditional n z A e * ((f d - f e) * (g d - g e))) as nonneg.
  { intros d e d_inside e_inside.
    destruct (A d) eqn:d_chosen; [|rewrite (conditional_out z d) by assumption; lra].
    destruct (A e) eqn:e_chosen; [|rewrite (conditional_out z e) by assumption; lra].
    apply Rmult_le_pos; [apply Rmult_le_pos; apply conditional_nonneg|auto]. }
  apply sum_pos_term with a; [|assumption|].
  - intros d d_inside; apply sum_nonneg; auto.
  - apply sum_pos_term with b; [auto|assumption|].
    apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; apply conditional_pos; assumption|assumption].
Qed.

Lemma same_order z a b :
  A a = true -> A b = true -> 0 <= (z a - z b) * (conditional n z A a - conditional n z A b).
Proof.
  intros a_chosen b_chosen; destruct (Rle_dec (z a) (z b)) as [below|above].
  - pose proof (conditional_le z a b b_chosen below).
    rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra.
  - pose proof (conditional_le z b a a_chosen ltac:(lra)); apply Rmult_le_pos; lra.
Qed.

(** * The threshold and the sign of the rate *)

Section Sign.

Variable z : vector.
Let q := conditional n z A.
Let c : vector := fun a => q a * centered n q z a.
Let C := mean n q c.
Let mu := mean n q z.

Lemma c_mean : C = covariance n q z q.
Proof.
  rewrite covariance_centered_l by apply conditional_sum.
  unfold C, mean, c; apply sum_ext; intros; ring.
Qed.

Lemma c_mean_nonneg : 0 <= C.
Proof.
  rewrite c_mean; apply conditional_covariance_nonneg; intros; apply same_order; assumption.
Qed.

Lemma excess_total : total_on n A (fun a => q a * centered n q c a) = 0.
Proof.
  unfold q; rewrite <- mean_conditional; apply mean_centered, conditional_sum.
Qed.

Lemma threshold_exists :
  exists t, mu <= t /\
    forall a, (a < n)%nat -> A a = true -> 0 <= (z a - t) * centered n q c a.
Proof.
  pose proof c_mean_nonneg as C_nonneg.
  set (low := fun a => A a && (if Rle_dec mu (z a) then true else false)
                       && (if Rlt_dec (c a) C then true else false)).
  assert (forall a, low a = true <-> A a = true /\ mu <= z a /\ c a < C) as low_spec.
  { intros a; unfold low; destruct (A a), (Rle_dec mu (z a)), (Rlt_dec (c a) C); simpl;
      split; try discriminate; intuition lra. }
  assert (forall t, mu <= t ->
            (forall a, (a < n)%nat -> low a = true -> z a <= t) ->
            (forall a, (a < n)%nat -> A a = true -> mu <= z a -> C <= c a -> t <= z a) ->
            forall a, (a < n)%nat -> A a = true -> 0 <= (z a - t) * centered n q c a) as enough.
  { intros t above upper lower a inside chosen; unfold centered; fold C.
    destruct (Rle_dec mu (z a)) as [over|under].
    - destruct (Rlt_dec (c a) C) as [small|large].
      + assert (z a <= t) by (apply upper; [assumption|apply low_spec; auto]).
        rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra.
      + assert (t <= z a) by (apply lower; [assumption|assumption|assumption|lra]).
        apply Rmult_le_pos; lra.
    - assert (c a <= 0) as c_neg.
      { unfold c, centered; fold mu; pose proof (conditional_nonneg z a) as q_nonneg.
        fold q in q_nonneg; assert (0 <= q a * - (z a - mu)) by (apply Rmult_le_pos; lra); lra. }
      rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra. }
  destruct (some_on n low) eqn:found.
  - destruct (largest_on_attained n low z (proj1 (some_on_spec n low) found))
      as (b & b_inside & b_low & b_top).
    pose proof (proj1 (low_spec b) b_low) as (b_chosen & b_above & b_small).
    exists (largest_on n low z); split; [rewrite b_top; assumption|].
    apply enough; [rewrite b_top; assumption|intros; apply largest_on_ge; assumption|].
    intros a inside chosen over large; rewrite b_top.
    apply Rnot_lt_le; intros below.
    assert (c a <= c b); [|lra].
    unfold c, centered; fold mu; apply Rmult_le_compat; [apply conditional_nonneg|lra| |lra].
    apply conditional_le; [assumption|lra].
  - exists mu; split; [lra|].
    apply enough; [lra| |intros; assumption].
    intros a inside chosen.
    assert (some_on n low = true) by (apply some_on_spec; exists a; auto); congruence.
Qed.

(** Some action lies below the mean, unless all are equal. *)
Lemma below_mean : ~ uniform_on n A z -> exists a, (a < n)%nat /\ A a = true /\ z a < mu.
Proof.
  intros uneven.
  destruct (smallest_on_attained n A z some) as (a & inside & chosen & least).
  exists a; repeat split; [assumption|assumption|].
  apply Rnot_le_lt; intros above; apply uneven.
  assert (forall b, (b < n)%nat -> A b = true -> z b = z a) as same.
  2: { intros b d b_inside d_inside b_chosen d_chosen.
       rewrite (same b), (same d) by assumption; reflexivity. }
  intros b b_inside b_chosen.
  assert (forall d, (d < n)%nat -> A d = true -> z a <= z d) as floor.
  { intros d d_inside d_chosen; rewrite <- least; apply smallest_on_le; assumption. }
  apply Rle_antisym; [|apply floor; assumption].
  apply Rnot_lt_le; intros higher.
  assert (z a < mu); [|lra].
  unfold mu; rewrite <- (mean_const n q (z a)) by apply conditional_sum.
  unfold q; rewrite !mean_conditional.
  apply total_on_lt with b; [|assumption|assumption|].
  - intros d d_inside d_chosen; apply Rmult_le_compat_l; [apply conditional_nonneg|auto].
  - apply Rmult_lt_compat_l; [apply conditional_pos; assumption|assumption].
Qed.

(** One term of g, at two values of b. *)
Lemma term_ordered b d x w : 0 <= x * w -> b <= d -> exp (b * x) * w <= exp (d * x) * w.
Proof.
  intros same_sign below; destruct (Rlt_dec 0 w) as [pos|nonpos].
  - assert (0 <= x).
    { apply Rmult_le_reg_r with w; [assumption|lra]. }
    apply Rmult_le_compat_r; [lra|]; apply exp_le, Rmult_le_compat_r; lra.
  - destruct (Req_dec w 0) as [->|nonzero]; [lra|].
    assert (x <= 0).
    { apply Rmult_le_reg_r with (- w); [lra|]; lra. }
    assert (exp (d * x) <= exp (b * x)).
    { apply exp_le; assert (0 <= (d - b) * - x) by (apply Rmult_le_pos; lra); lra. }
    assert (exp (d * x) * - w <= exp (b * x) * - w) by (apply Rmult_le_compat_r; lra); lra.
Qed.

Lemma term_strictly_ordered b d x w : x < 0 -> w < 0 -> b < d -> exp (b * x) * w < exp (d * x) * w.
Proof.
  intros x_neg w_neg below.
  assert (exp (d * x) < exp (b * x)).
  { apply exp_increasing; assert (0 < (d - b) * - x) by (apply Rmult_lt_0_compat; lra); lra. }
  assert (exp (d * x) * - w < exp (b * x) * - w) by (apply Rmult_lt_compat_r; lra); lra.
Qed.

Definition shifted_sum (t b : R) : R :=
  total_on n A (fun a => exp (b * (z a - t)) * centered n q c a).

(** -F(T) is a positive multiple of g(1/T). *)
Lemma rate_as_shifted_sum t T :
  conditional_rate n z A T =
  - (exp (/ T * t) / total_on n A (fun b => exp (tempered T z b))) * shifted_sum t (/ T).
Proof.
  unfold conditional_rate; fold q; fold c.
  unfold shifted_sum; rewrite <- Ropp_mult_distr_l; f_equal; rewrite <- total_on_scal.
  apply total_on_ext; intros a inside chosen.
  rewrite conditional_in by assumption.
  pose proof (weight_pos (tempered T z)).
  replace (exp (tempered T z a)) with (exp (/ T * t) * exp (/ T * (z a - t))); [field; lra|].
  rewrite <- exp_plus; f_equal; unfold tempered, Rdiv; ring.
Qed.

Lemma shifted_sum_at_1 t : shifted_sum t 1 = 0.
Proof.
  assert (exp t / total_on n A (fun b => exp (z b)) * shifted_sum t 1 = 0) as scaled.
  { rewrite <- excess_total; unfold shifted_sum; rewrite <- total_on_scal.
    apply total_on_ext; intros a inside chosen.
    unfold q at 2; rewrite conditional_in by assumption.
    pose proof (weight_pos z).
    replace (exp (z a)) with (exp t * exp (1 * (z a - t))); [field; lra|].
    rewrite <- exp_plus; f_equal; ring. }
  pose proof (Rdiv_lt_0_compat _ _ (exp_pos t) (weight_pos z)).
  apply Rmult_integral in scaled; destruct scaled as [zero|zero]; [lra|exact zero].
Qed.

Lemma shifted_sum_increases t b d :
  mu <= t -> (forall a, (a < n)%nat -> A a = true -> 0 <= (z a - t) * centered n q c a) ->
  b < d -> ~ uniform_on n A z -> shifted_sum t b < shifted_sum t d.
Proof.
  intros above threshold below uneven.
  destruct (below_mean uneven) as (a & inside & chosen & low).
  apply total_on_lt with a; [|assumption|assumption|].
  - intros e e_inside e_chosen; apply term_ordered; [auto|lra].
  - apply term_strictly_ordered; [lra| |assumption].
    unfold centered; fold C; pose proof c_mean_nonneg.
    assert (c a < 0); [|lra].
    unfold c, centered; fold mu.
    pose proof (conditional_pos z a chosen) as q_pos; fold q in q_pos.
    assert (0 < q a * - (z a - mu)) by (apply Rmult_lt_0_compat; lra); lra.
Qed.

Lemma rate_factor_pos t T : 0 < exp (/ T * t) / total_on n A (fun b => exp (tempered T z b)).
Proof. apply Rdiv_lt_0_compat; [apply exp_pos|apply weight_pos]. Qed.

(** On the solved face a temperature above 1 raises entropy, one below 1 lowers it. *)
Theorem rate_positive_when_hot T : 1 < T -> ~ uniform_on n A z -> 0 < conditional_rate n z A T.
Proof.
  intros hot uneven; destruct threshold_exists as (t & above & threshold).
  rewrite (rate_as_shifted_sum t T); pose proof (rate_factor_pos t T).
  assert (shifted_sum t (/ T) < 0).
  { rewrite <- (shifted_sum_at_1 t); apply shifted_sum_increases; try assumption.
    rewrite <- Rinv_1; apply Rinv_lt_contravar; lra. }
  rewrite <- Ropp_mult_distr_l, Ropp_mult_distr_r; apply Rmult_lt_0_compat; lra.
Qed.

Theorem rate_negative_when_cold T :
  0 < T -> T < 1 -> ~ uniform_on n A z -> conditional_rate n z A T < 0.
Proof.
  intros positive cold uneven; destruct threshold_exists as (t & above & threshold).
  rewrite (rate_as_shifted_sum t T); pose proof (rate_factor_pos t T) as factor.
  assert (0 < shifted_sum t (/ T)) as sum_pos.
  { rewrite <- (shifted_sum_at_1 t); apply shifted_sum_increases; try assumption.
    rewrite <- Rinv_1; apply Rinv_lt_contravar; lra. }
  pose proof (Rmult_lt_0_compat _ _ factor sum_pos); lra.
Qed.

Theorem rate_zero_at_1 : conditional_rate n z A 1 = 0.
Proof.
  rewrite (rate_as_shifted_sum 0 1), Rinv_1, shifted_sum_at_1; ring.
Qed.

Theorem rate_zero_when_uniform T : uniform_on n A z -> conditional_rate n z A T = 0.
Proof.
  intros even; unfold conditional_rate; fold q.
  assert (forall a, (a < n)%nat -> A a = true -> centered n q z a = 0) as flat.
  { intros a inside chosen; unfold centered, q; rewrite mean_conditional.
    rewrite (total_on_ext n A _ (fun b => z a * conditional n z A b)).
    - rewrite total_on_scal, conditional_total; ring.
    - intros b b_inside b_chosen; rewrite (even a b) by assumption; ring. }
  rewrite (total_on_ext n A _ (fun _ => 0)).
  - rewrite total_on_const; ring.
  - intros a inside chosen.
    replace (centered n q (fun b => q b * centered n q z b) a) with 0; [ring|].
    unfold centered at 1; rewrite (flat a) by assumption.
    unfold q at 2; rewrite mean_conditional; fold q.
    rewrite (total_on_ext n A _ (fun _ => 0)); [rewrite total_on_const; ring|].
    intros b b_inside b_chosen; rewrite flat by assumption; ring.
Qed.

End Sign.

End Conditional.
