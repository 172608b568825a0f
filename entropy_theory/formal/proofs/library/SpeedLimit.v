(** The speed limit of entropy: along a logit step of range rho, |dH/ds| = |Cov(log pi, d)| <= rho H, so that
    |log H' - log H| <= rho. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Learning.
Open Scope R_scope.

Lemma Rabs_sum n f : Rabs (sum n f) <= sum n (fun a => Rabs (f a)).
Proof.
  induction n as [|k IH]; simpl; [rewrite Rabs_R0; lra|].
  apply Rle_trans with (1 := Rabs_triang _ _); lra.
Qed.

(** |Cov(log pi, d)| <= rho H, for |d - c| <= rho/2. *)
Lemma covariance_log_at_most n z d c rho :
  (0 < n)%nat -> (forall a, (a < n)%nat -> Rabs (d a - c) <= rho / 2) ->
  Rabs (covariance n (softmax n z) (log_softmax n z) d) <= rho * entropy n z.
Proof.
  intros some near; pose proof (softmax_sum n z some) as one.
  assert (covariance n (softmax n z) (log_softmax n z) d
          = mean n (softmax n z) (fun a => (log_softmax n z a + entropy n z) * (d a - c))) as ->.
  { rewrite covariance_centered_l by assumption.
    transitivity (mean n (softmax n z) (fun a => centered n (softmax n z) (log_softmax n z) a * d a
                    - c * centered n (softmax n z) (log_softmax n z) a)).
    - rewrite mean_minus, mean_scal, mean_centered by assumption; ring.
    - apply mean_ext; intros a _; unfold centered; rewrite entropy_log; ring. }
  apply Rle_trans with (mean n (softmax n z) (fun a => rho / 2 * (entropy n z - log_softmax n z a))).
  - unfold mean; apply Rle_trans with (1 := Rabs_sum _ _); apply sum_le; intros a inside.
    pose proof (softmax_pos n z a some) as positive; pose proof (softmax_le_1 n z a inside) as below.
    pose proof (entropy_nonneg n z some); pose proof (ln_nonpos _ positive below) as log.
    rewrite Rabs_mult, (Rabs_pos_eq (softmax n z a)) by lra; apply Rmult_le_compat_l; [lra|].
    rewrite Rabs_mult, Rmult_comm; apply Rmult_le_compat; try apply Rabs_pos; [apply near, inside|].
    change (log_softmax n z a) with (ln (softmax n z a)); apply Rabs_le; lra.
  - rewrite mean_scal, mean_minus, mean_const by assumption.
    assert (mean n (softmax n z) (log_softmax n z) = - entropy n z) as -> by (rewrite entropy_log; ring); lra.
Qed.

(** Gronwall's inequality, both ways. *)
Lemma gronwall (f df : R -> R) rho :
  (forall s, 0 <= s <= 1 -> is_derive f s (df s)) -> (forall s, 0 <= s <= 1 -> Rabs (df s) <= rho * f s) ->
  f 1 <= exp rho * f 0 /\ f 0 <= exp rho * f 1.
Proof.
  intros slope bound.
  assert (forall r, (r = rho \/ r = - rho) -> forall s, 0 <= s <= 1 ->
            is_derive (fun t => f t * exp (r * t)) s ((df s + r * f s) * exp (r * s))) as product.
  { intros r _ s inside; evar_last.
    - apply (is_derive_mult f (fun t => exp (r * t)) s (df s) (r * exp (r * s))).
      + apply slope, inside.
      + auto_derive; [trivial|ring].
      + intros; apply Rmult_comm.
    - unfold plus, mult; simpl; ring. }
  pose proof (exp_pos rho) as e_pos.
  split.
  - assert (- (f 0 * exp (- rho * 0)) <= - (f 1 * exp (- rho * 1))) as falls.
    { apply (nondecreasing_by_slope (fun t => - (f t * exp (- rho * t)))
               (fun s => - ((df s + - rho * f s) * exp (- rho * s)))); [lra| |].
      - intros s inside; apply @is_derive_opp, product; [right; reflexivity|assumption].
      - intros s inside; specialize (bound s ltac:(lra)); apply Rabs_le_between in bound.
        rewrite Ropp_mult_distr_l; apply Rmult_le_pos; [lra|apply Rlt_le, exp_pos]. }
    rewrite Rmult_0_r, exp_0, Rmult_1_r, Rmult_1_r, exp_Ropp in falls.
    apply Rmult_le_reg_r with (/ exp rho); [apply Rinv_0_lt_compat, e_pos|].
    replace (exp rho * f 0 * / exp rho) with (f 0) by (field; lra); lra.
  - assert (f 0 * exp (rho * 0) <= f 1 * exp (rho * 1)) as rises.
    { apply (nondecreasing_by_slope (fun t => f t * exp (rho * t))
               (fun s => (df s + rho * f s) * exp (rho * s))); [lra| |].
      - intros s inside; apply product; [left; reflexivity|assumption].
      - intros s inside; specialize (bound s ltac:(lra)); apply Rabs_le_between in bound.
        apply Rmult_le_pos; [lra|apply Rlt_le, exp_pos]. }
    rewrite Rmult_0_r, exp_0, Rmult_1_r, Rmult_1_r in rises; lra.
Qed.

Theorem entropy_speed_limit n z d c rho :
  (0 < n)%nat -> (forall a, (a < n)%nat -> Rabs (d a - c) <= rho / 2) ->
  entropy n (fun a => z a + d a) <= exp rho * entropy n z
  /\ entropy n z <= exp rho * entropy n (fun a => z a + d a).
Proof.
  intros some near.
  set (path := fun s a => z a + s * d a).
  assert (forall y, (forall a, y a = z a) -> entropy n y = entropy n z) as start.
  { intros y same; unfold entropy; f_equal; apply sum_ext; intros a inside.
    rewrite (softmax_ext n y z a) by (auto || assumption); reflexivity. }
  assert (forall y, (forall a, y a = z a + d a) -> entropy n y = entropy n (fun a => z a + d a)) as finish.
  { intros y same; unfold entropy; f_equal; apply sum_ext; intros a inside.
    rewrite (softmax_ext n y (fun b => z b + d b) a) by (auto || assumption); reflexivity. }
  rewrite <- (start (path 0)), <- (finish (path 1)) by (intros; unfold path; ring).
  apply (gronwall (fun s => entropy n (path s))
           (fun s => - covariance n (softmax n (path s)) (log_softmax n (path s)) d)).
  - intros s _; apply (is_derive_entropy n path d s some).
    intros a inside; unfold path; auto_derive; [trivial|ring].
  - intros s _; rewrite Rabs_Ropp; apply covariance_log_at_most with c; assumption.
Qed.

(** Every entry of the combined step lies within kappa + alpha of zero. *)
Lemma combined_step_within n z A T kappa alpha a :
  (a < n)%nat -> 0 <= kappa -> 0 <= alpha ->
  Rabs (combined_step n z A T kappa alpha a) <= kappa + alpha.
Proof.
  intros inside kappa_nonneg alpha_nonneg; assert (0 < n)%nat as some by lia.
  assert (forall T', Rabs (unit_step n z A T' a) <= 1) as each.
  { intros T'; unfold unit_step; set (hot := softmax n (tempered T' z)).
    assert (forall b, 0 < hot b) as hot_pos by (intros; apply softmax_pos, some).
    assert (hot a <= 1) as hot_1 by (apply softmax_le_1, inside).
    pose proof (softmax_pos n z a some); pose proof (softmax_le_1 n z a inside).
    assert (0 <= total_on n A hot) as mass_nonneg
      by (apply total_on_nonneg; intros; apply Rlt_le, hot_pos).
    assert (total_on n A hot <= 1) as mass_1.
    { assert (sum n hot = 1) as one by (apply softmax_sum, some).
      rewrite <- one, <- (total_on_complement n A).
      assert (0 <= total_on n (complement A) hot); [|lra].
      apply total_on_nonneg; intros; apply Rlt_le, hot_pos. }
    assert (0 <= total_on n A hot * softmax n z a <= 1 * 1) as product
      by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra]).
    pose proof (hot_pos a); unfold only; destruct (A a); apply Rabs_le; lra. }
  unfold combined_step; apply Rle_trans with (1 := Rabs_triang _ _).
  rewrite !Rabs_mult, (Rabs_pos_eq kappa), (Rabs_pos_eq alpha) by assumption.
  pose proof (Rmult_le_compat_l kappa _ _ kappa_nonneg (each 1)).
  pose proof (Rmult_le_compat_l alpha _ _ alpha_nonneg (each T)); lra.
Qed.

Theorem step_speed_limit n z A T kappa alpha eta :
  (0 < n)%nat -> 0 <= kappa -> 0 <= alpha -> 0 <= eta ->
  let after := moved eta z (combined_step n z A T kappa alpha) in
  let most := exp (2 * eta * (kappa + alpha)) in
  entropy n after <= most * entropy n z /\ entropy n z <= most * entropy n after.
Proof.
  intros some kappa_nonneg alpha_nonneg eta_nonneg after most.
  apply (entropy_speed_limit n z (fun a => eta * combined_step n z A T kappa alpha a) 0); [assumption|].
  intros a inside; rewrite Rminus_0_r, Rabs_mult, (Rabs_pos_eq eta) by assumption.
  pose proof (combined_step_within n z A T kappa alpha a inside kappa_nonneg alpha_nonneg) as within.
  apply (Rmult_le_compat_l eta) in within; [|assumption]; lra.
Qed.
