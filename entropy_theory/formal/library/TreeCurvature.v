(** The entropy of responses along a straight line of logits: two derivatives, and bounds on them.

    With V the entropy to come at a state with k tokens to go, W that of its children, u = d - E d and
    D a bound on ||d_s||^2 at every state, D = 2 s^2,

        V'  = -Cov(log pi, d) + Cov(W, d) + E[W'],                  |V'|  <= s log n k (k + 7)/4,
        V'' = H_s'' + Cov(u^2, W) + 2 Cov(W', d) + E[W''],          |V''| <= s^2 (k + c_k log n),

    with c_k = k (k^2 + 12 k - 7)/6, by induction on k, as 0 <= W <= (k - 1) log n. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates.
From PolicyEntropy.library Require Import Curvature Spread CurvatureBounds.
Import ListNotations.
Open Scope R_scope.

(** * Moments of a direction *)

Section Moments.

Variables (n : nat) (p d : vector) (s : R).
Hypothesis some : (0 < n)%nat.
Hypothesis nonneg : forall a, (a < n)%nat -> 0 <= p a.
Hypothesis one : sum n p = 1.
Hypothesis s_nonneg : 0 <= s.
Hypothesis size : sum n (fun a => d a * d a) <= 2 * s ^ 2.

Let u := centered n p d.

Lemma mean_abs f b : (forall a, (a < n)%nat -> Rabs (f a) <= b a) -> Rabs (mean n p f) <= mean n p b.
Proof.
  intros within; apply Rabs_le; rewrite <- mean_opp; split; apply mean_le; try assumption;
    intros a inside; specialize (within a inside); apply Rabs_le_between in within; lra.
Qed.

Lemma deviation_below a : (a < n)%nat -> Rabs (u a) <= 2 * s.
Proof.
  intros inside.
  pose proof (square_centered_below_range n p d nonneg one (smallest n d) (largest n d) a
                (between_smallest_and_largest n d) inside) as square.
  pose proof (spread_below_norm n d some) as norm.
  apply Rabs_le; unfold u in *; split; nra.
Qed.

Lemma variance_below : covariance n p d d <= s ^ 2.
Proof.
  pose proof (variance_below_range n p d nonneg one (smallest n d) (largest n d)
                (between_smallest_and_largest n d)) as quarter.
  pose proof (spread_below_norm n d some) as norm; lra.
Qed.

(** E|u| <= s, from 2 s |u| <= u^2 + s^2. *)
Lemma absolute_deviation_below : mean n p (fun a => Rabs (u a)) <= s.
Proof.
  destruct s_nonneg as [positive|zero].
  - apply Rle_trans with (mean n p (fun a => / (2 * s) * (u a * u a + s ^ 2))).
    + apply mean_le; [assumption|]; intros a inside.
      apply Rmult_le_reg_l with (2 * s); [lra|].
      rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
      pose proof (pow2_ge_0 (Rabs (u a) - s)); pose proof (Rsqr_abs (u a)) as square.
      unfold Rsqr in square; nra.
    + rewrite mean_scal, (mean_plus n p (fun a => u a * u a) (fun _ => s ^ 2)),
        (mean_const n p (s ^ 2)) by assumption.
      change (mean n p (fun a => u a * u a)) with (covariance n p d d).
      apply Rmult_le_reg_l with (2 * s); [lra|].
      rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra; pose proof variance_below; nra.
  - rewrite <- (mean_const n p s one); apply mean_le; [assumption|]; intros a inside.
    pose proof (deviation_below a inside); lra.
Qed.

Lemma covariance_within f c w :
  0 <= w -> (forall a, (a < n)%nat -> Rabs (f a - c) <= w) -> Rabs (covariance n p f d) <= w * s.
Proof.
  intros w_nonneg within.
  rewrite <- (covariance_shift_l n p (- c) f d one), covariance_sym, covariance_centered_l by assumption.
  apply Rle_trans with (mean n p (fun a => w * Rabs (u a))).
  - apply mean_abs; intros a inside; fold u; rewrite Rabs_mult, Rmult_comm.
    apply Rmult_le_compat_r; [apply Rabs_pos|]; apply within, inside.
  - rewrite mean_scal; apply Rmult_le_compat_l; [assumption|apply absolute_deviation_below].
Qed.

Lemma covariance_square_within f w :
  (forall a, (a < n)%nat -> 0 <= f a <= w) ->
  Rabs (covariance n p (fun a => u a * u a) f) <= w * s ^ 2.
Proof.
  intros range; assert (0 <= w) as w_nonneg by (destruct (range 0%nat some); lra).
  rewrite covariance_eq by assumption.
  change (mean n p (fun a => u a * u a)) with (covariance n p d d).
  assert (0 <= mean n p (fun a => u a * u a * f a) <= w * covariance n p d d) as first.
  { split.
    - apply mean_nonneg; [assumption|]; intros a inside; destruct (range a inside).
      apply Rmult_le_pos; [apply Rle_0_sqr|assumption].
    - change (covariance n p d d) with (mean n p (fun a => u a * u a)); rewrite <- mean_scal.
      apply mean_le; [assumption|]; intros a inside; destruct (range a inside).
      rewrite (Rmult_comm w); apply Rmult_le_compat_l; [apply Rle_0_sqr|assumption]. }
  assert (0 <= mean n p f <= w) as second.
  { split; [apply mean_nonneg; [assumption|]; intros a inside; apply range, inside|].
    rewrite <- (mean_const n p w one); apply mean_le; [assumption|]; intros; apply range; assumption. }
  pose proof (variance_nonneg n p d nonneg); pose proof variance_below.
  assert (0 <= covariance n p d d * mean n p f <= covariance n p d d * w) as third
    by (split; [apply Rmult_le_pos|apply Rmult_le_compat_l]; lra).
  assert (w * covariance n p d d <= w * s ^ 2) by (apply Rmult_le_compat_l; lra).
  apply Rabs_le; lra.
Qed.

End Moments.

Lemma covariance_log_within n z d s :
  (0 < n)%nat -> 0 <= s -> sum n (fun a => d a * d a) <= 2 * s ^ 2 ->
  Rabs (covariance n (softmax n z) (log_softmax n z) d) <= 2 * s * ln (INR n).
Proof.
  intros some s_nonneg size.
  assert (forall a, (a < n)%nat -> 0 <= softmax n z a) as nonneg
    by (intros; apply Rlt_le, softmax_pos, some).
  pose proof (softmax_sum n z some) as one.
  apply Rle_trans with (2 * s * entropy n z).
  - rewrite covariance_sym, covariance_centered_l by assumption.
    rewrite entropy_log, <- mean_opp, <- mean_scal; apply mean_abs; [assumption|].
    intros a inside; rewrite Rabs_mult.
    pose proof (log_softmax_nonpos n z a inside) as negative.
    rewrite (Rabs_left1 (log_softmax n z a)) by assumption.
    apply Rmult_le_compat_r; [lra|].
    apply (deviation_below n (softmax n z) d s); assumption.
  - apply Rmult_le_compat_l; [lra|apply entropy_below_log, some].
Qed.

(** * The entropy of responses, first token first *)

Lemma response_entropy_first n h z :
  (0 < n)%nat ->
  response_entropy n (S h) z =
  entropy n (z []) + mean n (softmax n (z [])) (fun a => response_entropy n h (after a z)).
Proof.
  intros some; rewrite response_entropy_value by assumption; cbn [value].
  rewrite (mean_plus n _ (fun a => - log_policy n z [] a)), mean_opp; f_equal.
  apply mean_ext; intros a _; rewrite response_entropy_value by assumption; reflexivity.
Qed.

Lemma response_entropy_range n h : forall z,
  (0 < n)%nat -> 0 <= response_entropy n h z <= INR h * ln (INR n).
Proof.
  induction h as [|k IH]; intros z some.
  - unfold response_entropy; simpl; rewrite ln_1; lra.
  - rewrite response_entropy_first, S_INR by assumption.
    assert (forall a, (a < n)%nat -> 0 <= softmax n (z []) a) as nonneg
      by (intros; apply Rlt_le, softmax_pos, some).
    pose proof (softmax_sum n (z []) some) as one.
    pose proof (entropy_nonneg n (z [])); pose proof (entropy_below_log n (z []) some).
    assert (0 <= mean n (softmax n (z [])) (fun a => response_entropy n k (after a z))
            <= INR k * ln (INR n)); [split|lra].
    + apply mean_nonneg; [assumption|]; intros; apply IH, some.
    + rewrite <- (mean_const n _ (INR k * ln (INR n)) one); apply mean_le; [assumption|].
      intros; apply IH, some.
Qed.

(** * Two derivatives *)

Section Line.

Variables (n : nat).
Hypothesis some : (0 < n)%nat.

Fixpoint entropy_slope (h : nat) (z : policy) (d : state -> vector) : R :=
  match h with
  | O => 0
  | S k =>
      let p := softmax n (z []) in
      - covariance n p (log_softmax n (z [])) (d [])
      + (covariance n p (fun a => response_entropy n k (after a z)) (d [])
         + mean n p (fun a => entropy_slope k (after a z) (after a d)))
  end.

Fixpoint entropy_curvature (h : nat) (z : policy) (d : state -> vector) : R :=
  match h with
  | O => 0
  | S k =>
      let p := softmax n (z []) in
      let u := centered n p (d []) in
      quadratic_form n (z []) (d [])
      + (covariance n p (fun a => u a * u a) (fun a => response_entropy n k (after a z))
         + 2 * covariance n p (fun a => entropy_slope k (after a z) (after a d)) (d [])
         + mean n p (fun a => entropy_curvature k (after a z) (after a d)))
  end.

Lemma is_derive_entropy_slope h : forall z d t,
  is_derive (fun r => response_entropy n h (moved z r d)) t (entropy_slope h (moved z t d) d).
Proof.
  induction h as [|k IH]; intros z d t.
  - apply is_derive_ext with (f := fun _ => 0); [|apply @is_derive_const].
    intros r; unfold response_entropy; simpl; rewrite ln_1; ring.
  - apply is_derive_ext with (f := fun r => entropy n (line (z []) (d []) r) +
      mean n (softmax n (line (z []) (d []) r))
        (fun a => response_entropy n k (moved (after a z) r (after a d)))).
    { intros r; symmetry; apply response_entropy_first, some. }
    assert (forall a, (a < n)%nat -> is_derive (fun r => line (z []) (d []) r a) t (d [] a)) as moves
      by (intros; unfold line; auto_derive; [trivial|ring]).
    apply @is_derive_plus.
    + apply (is_derive_entropy n (line (z []) (d []))); assumption.
    + evar_last.
      * apply (is_derive_mean n (line (z []) (d [])) (d []) t some moves
          (fun r a => response_entropy n k (moved (after a z) r (after a d)))
          (fun a => entropy_slope k (moved (after a z) t (after a d)) (after a d))).
        intros a _; apply IH.
      * rewrite covariance_sym; reflexivity.
Qed.

Lemma is_derive_entropy_curvature h : forall z d t,
  is_derive (fun r => entropy_slope h (moved z r d) d) t (entropy_curvature h (moved z t d) d).
Proof.
  induction h as [|k IH]; intros z d t.
  - apply is_derive_ext with (f := fun _ => 0); [reflexivity|apply @is_derive_const].
  - set (W := fun r a => response_entropy n k (moved (after a z) r (after a d))).
    set (G := fun r a => entropy_slope k (moved (after a z) r (after a d)) (after a d)).
    set (p := fun r => softmax n (line (z []) (d []) r)).
    change (is_derive (fun r =>
      - covariance n (p r) (log_softmax n (line (z []) (d []) r)) (d [])
      + (covariance n (p r) (W r) (d []) + mean n (p r) (G r))) t
      (entropy_curvature (S k) (moved z t d) d)).
    assert (forall a, (a < n)%nat -> is_derive (fun r => line (z []) (d []) r a) t (d [] a)) as moves
      by (intros; unfold line; auto_derive; [trivial|ring]).
    assert (sum n (p t) = 1) as one by (apply softmax_sum, some).
    evar_last.
    + apply @is_derive_plus; [apply is_derive_slope_line, some|].
      apply @is_derive_plus.
      * apply (is_derive_covariance n (z []) (d []) some t W (fun _ => d []) (G t) (fun _ => 0)).
        -- intros a _; apply is_derive_entropy_slope.
        -- intros; apply @is_derive_const.
      * apply (is_derive_mean n (line (z []) (d [])) (d []) t some moves G
          (fun a => entropy_curvature k (moved (after a z) t (after a d)) (after a d))).
        intros a _; apply IH.
    + unfold plus; cbn [entropy_curvature AbelianGroup.plus R_AbelianGroup].
      change (moved z t d []) with (line (z []) (d []) t).
      fold (p t); set (u := centered n (p t) (d [])).
      change (fun a => response_entropy n k (after a (moved z t d))) with (W t).
      change (fun a => entropy_slope k (after a (moved z t d)) (after a d)) with (G t).
      change (fun a => entropy_curvature k (after a (moved z t d)) (after a d))
        with (fun a => entropy_curvature k (moved (after a z) t (after a d)) (after a d)).
      rewrite (covariance_const_r n (p t) 0 (W t) one).
      rewrite (covariance_sym n (p t) (d []) (G t)).
      rewrite (covariance_sym n (p t) (fun a => u a * u a) (W t)),
        (covariance_centered_l n (p t) (W t)) by assumption.
      rewrite (mean_ext n (p t)
        (fun a => u a * centered n (p t) (W t) a * u a)
        (fun a => centered n (p t) (W t) a * (u a * u a))) by (intros; ring).
      unfold plus; simpl; ring.
Qed.

(** * Bounds *)

Lemma entropy_slope_within s h : forall (z : policy) (d : state -> vector),
  0 <= s -> (forall x, state_of n h x -> sum n (fun a => d x a * d x a) <= 2 * s ^ 2) ->
  Rabs (entropy_slope h z d) <= s * ln (INR n) * (INR h * (INR h + 7)) / 4.
Proof.
  induction h as [|k IH]; intros z d s_nonneg size; [simpl; rewrite Rabs_R0; lra|].
  cbn [entropy_slope]; rewrite S_INR; set (p := softmax n (z [])).
  assert (forall a, (a < n)%nat -> 0 <= p a) as nonneg by (intros; apply Rlt_le, softmax_pos, some).
  assert (sum n p = 1) as one by apply softmax_sum, some.
  assert (sum n (fun a => d [] a * d [] a) <= 2 * s ^ 2) as size_here by apply size, state_of_nil.
  pose proof (covariance_log_within n (z []) (d []) s some s_nonneg size_here) as log_term; fold p in log_term.
  pose proof (ln_INR_nonneg n some) as L_nonneg; set (L := ln (INR n)) in *.
  pose proof (pos_INR k) as k_nonneg.
  assert (Rabs (covariance n p (fun a => response_entropy n k (after a z)) (d [])) <= INR k * L / 2 * s)
    as to_come.
  { apply (covariance_within n p (d []) s some nonneg one s_nonneg size_here _ (INR k * L / 2)).
    - assert (0 <= INR k * L) by (apply Rmult_le_pos; assumption); lra.
    - intros a _; pose proof (response_entropy_range n k (after a z) some) as range; fold L in range.
      apply Rabs_le; lra. }
  assert (Rabs (mean n p (fun a => entropy_slope k (after a z) (after a d)))
          <= s * L * (INR k * (INR k + 7)) / 4) as later.
  { rewrite <- (mean_const n p (s * L * (INR k * (INR k + 7)) / 4) one).
    apply mean_abs; [assumption|]; intros a inside; apply IH; [assumption|].
    intros x x_inside; apply size, state_of_cons; assumption. }
  apply Rabs_le_between in log_term; apply Rabs_le_between in to_come; apply Rabs_le_between in later.
  apply Rabs_le; lra.
Qed.

Lemma entropy_curvature_within s h : forall (z : policy) (d : state -> vector),
  (2 <= n)%nat -> 0 <= s ->
  (forall x, state_of n h x -> sum n (fun a => d x a * d x a) <= 2 * s ^ 2) ->
  Rabs (entropy_curvature h z d)
    <= s ^ 2 * (INR h + INR h * (INR h ^ 2 + 12 * INR h - 7) / 6 * ln (INR n)).
Proof.
  induction h as [|k IH]; intros z d several s_nonneg size; [simpl; rewrite Rabs_R0; lra|].
  cbn [entropy_curvature]; rewrite S_INR; set (p := softmax n (z [])).
  assert (forall a, (a < n)%nat -> 0 <= p a) as nonneg by (intros; apply Rlt_le, softmax_pos, some).
  assert (sum n p = 1) as one by apply softmax_sum, some.
  assert (sum n (fun a => d [] a * d [] a) <= 2 * s ^ 2) as size_here by apply size, state_of_nil.
  pose proof (curvature_bound n (z []) (d []) some several) as here.
  pose proof (ln_INR_above n several) as L_large; pose proof ln_2_above as log_2.
  pose proof (pos_INR k) as k_nonneg; pose proof (pow2_ge_0 s) as square.
  assert (Rabs (covariance n p (fun a => centered n p (d []) a * centered n p (d []) a)
            (fun a => response_entropy n k (after a z))) <= INR k * ln (INR n) * s ^ 2) as to_come.
  { apply (covariance_square_within n p (d []) s some nonneg one size_here).
    intros a _; apply response_entropy_range, some. }
  assert (Rabs (covariance n p (fun a => entropy_slope k (after a z) (after a d)) (d []))
          <= s * ln (INR n) * (INR k * (INR k + 7)) / 4 * s) as cross.
  { assert (forall a, (a < n)%nat -> Rabs (entropy_slope k (after a z) (after a d) - 0)
                     <= s * ln (INR n) * (INR k * (INR k + 7)) / 4) as slopes.
    { intros a inside; rewrite Rminus_0_r; apply entropy_slope_within; [assumption|].
      intros x x_inside; apply size, state_of_cons; assumption. }
    apply (covariance_within n p (d []) s some nonneg one s_nonneg size_here _ 0); [|exact slopes].
    apply Rle_trans with (1 := Rabs_pos _) (2 := slopes 0%nat some). }
  set (L := ln (INR n)) in *.
  set (later_bound := s ^ 2 * (INR k + INR k * (INR k ^ 2 + 12 * INR k - 7) / 6 * L)) in *.
  assert (Rabs (mean n p (fun a => entropy_curvature k (after a z) (after a d))) <= later_bound) as later.
  { rewrite <- (mean_const n p later_bound one).
    apply mean_abs; [assumption|]; intros a inside; apply IH; try assumption.
    intros x x_inside; apply size, state_of_cons; assumption. }
  assert (Rabs (quadratic_form n (z []) (d [])) <= (1 + L) * s ^ 2) as one_state.
  { apply Rle_trans with (1 := here).
    assert (0 <= sum n (fun a => d [] a * d [] a)) by (apply sum_nonneg; intros; apply Rle_0_sqr).
    assert ((5 / 8 + L / 5) * sum n (fun a => d [] a * d [] a) <= (5 / 8 + L / 5) * (2 * s ^ 2))
      by (apply Rmult_le_compat_l; lra).
    assert (0 <= (3 * L / 5 - 1 / 4) * s ^ 2) by (apply Rmult_le_pos; lra); lra. }
  apply Rabs_le_between in one_state; apply Rabs_le_between in to_come.
  apply Rabs_le_between in cross; apply Rabs_le_between in later.
  unfold later_bound in later; apply Rabs_le; lra.
Qed.

End Line.
