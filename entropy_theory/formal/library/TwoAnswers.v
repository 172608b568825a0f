(** Two right answers on the solved face: one number, D = |z_1 - z_2|, is the whole motion.

      D' = D - eta f_T(D),   f_T(D) = tanh(D/2) - tanh(D/(2T)),   |f_T| <= (1/2) max(T - 1, 1/T - 1),

    and the entropy falls with D, by at most a quarter of the change of D. The names are those of
    [entropy_theory/claims/extensions/solved_face.py]. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Masks Groups Monotone.
Open Scope R_scope.

(** f_T(D) *)
Definition speed (gap temperature : R) : R :=
  let hot := exp (- gap / temperature) in
  let cold := exp (- gap) in
  2 * (hot - cold) / ((1 + hot) * (1 + cold)).
(** H of two answers whose logits differ by D. *)
Definition two_answer_entropy (gap : R) : R :=
  let weight := exp (- gap) in
  ln (1 + weight) + gap * weight / (1 + weight).
(** AEPO's switch: 5/4 where the entropy is below its target, 4/5 elsewhere. *)
Definition switch_temperature (is_low : bool) : R := if is_low then 5 / 4 else 4 / 5.

Definition sigmoid (x : R) : R := / (1 + exp (- x)).

(** * The speed *)

Lemma sigmoid_denominator x : 0 < 1 + exp (- x).
Proof. pose proof (exp_pos (- x)); lra. Qed.

Lemma sigmoid_pos x : 0 < sigmoid x.
Proof. apply Rinv_0_lt_compat, sigmoid_denominator. Qed.

Lemma sigmoid_below_1 x : sigmoid x < 1.
Proof.
  pose proof (exp_pos (- x)); unfold sigmoid; rewrite <- Rinv_1; apply Rinv_lt_contravar; lra.
Qed.

Lemma is_derive_sigmoid x : is_derive sigmoid x (/ (2 + exp x + exp (- x))).
Proof.
  pose proof (exp_pos x) as up; pose proof (exp_pos (- x)) as down.
  unfold sigmoid; evar_last.
  - auto_derive; [lra|reflexivity].
  - assert (exp x * exp (- x) = 1) as one by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    apply Rmult_eq_reg_l with ((2 + exp x + exp (- x)) * (1 + exp (- x)) * (1 + exp (- x))).
    2: { apply Rgt_not_eq; repeat apply Rmult_lt_0_compat; lra. }
    field_simplify; [|lra|lra].
    replace (exp (- x) ^ 2) with (exp (- x) * exp (- x)) by ring.
    assert (exp (- x) * exp x = 1) as one' by lra.
    lra.
Qed.

Lemma speed_sigmoid D T : speed D T = 2 * (sigmoid D - sigmoid (D / T)).
Proof.
  unfold speed, sigmoid; replace (- D / T) with (- (D / T)) by (unfold Rdiv; ring).
  pose proof (exp_pos (- (D / T))); pose proof (exp_pos (- D)); field; lra.
Qed.

Lemma sigmoid_slope_at_most x low : 0 <= low -> low <= x -> / (2 + exp x + exp (- x)) <= / (4 + low * low).
Proof.
  intros low_nonneg above; pose proof (cosh_at_least x).
  assert (low * low <= x * x) by (apply Rmult_le_compat; lra).
  apply Rinv_le_contravar; [|lra].
  pose proof (Rle_0_sqr low) as square; unfold Rsqr in square; lra.
Qed.

Lemma sigmoid_change x y : 0 <= x -> x <= y -> 0 <= sigmoid y - sigmoid x <= (y - x) / (4 + x * x).
Proof.
  intros nonneg below; destruct (Rle_lt_or_eq_dec _ _ below) as [strict| ->].
  - destruct (mean_value sigmoid _ x y strict (fun t _ => is_derive_sigmoid t)) as (c & inside & ->).
    pose proof (exp_pos c); pose proof (exp_pos (- c)).
    split.
    + apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat; lra|lra].
    + rewrite Rmult_comm; apply Rmult_le_compat_l; [lra|apply sigmoid_slope_at_most; lra].
  - rewrite !Rminus_eq_0; unfold Rdiv; rewrite Rmult_0_l; lra.
Qed.

Lemma sigmoid_increases x y : x < y -> sigmoid x < sigmoid y.
Proof.
  intros strict; destruct (mean_value sigmoid _ x y strict (fun t _ => is_derive_sigmoid t))
    as (c & inside & change).
  pose proof (exp_pos c); pose proof (exp_pos (- c)).
  assert (0 < / (2 + exp c + exp (- c)) * (y - x))
    by (apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat|]; lra).
  lra.
Qed.

Lemma share_at_most y : y / (4 + y * y) <= / 4.
Proof.
  pose proof (Rle_0_sqr y) as square; unfold Rsqr in square.
  apply Rmult_le_reg_r with (4 + y * y); [lra|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra.
  pose proof (Rle_0_sqr (y - 2)) as other; unfold Rsqr in other; lra.
Qed.

(** |f_T(D)| <= (T - 1)/2 for T >= 1, and (1/T - 1)/2 for T <= 1. *)
Lemma speed_hot D T : 0 <= D -> 1 <= T -> 0 <= speed D T <= (T - 1) / 2.
Proof.
  intros nonneg hot; rewrite speed_sigmoid.
  assert (0 <= D / T) as start by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (D / T <= D) as below.
  { apply Rmult_le_reg_r with T; [lra|]; replace (D / T * T) with D by (field; lra).
    rewrite <- (Rmult_1_r D) at 1; apply Rmult_le_compat_l; lra. }
  destruct (sigmoid_change (D / T) D start below) as [low high].
  split; [lra|].
  replace ((D - D / T) / (4 + D / T * (D / T))) with ((D / T) / (4 + D / T * (D / T)) * (T - 1)) in high.
  - assert ((D / T) / (4 + D / T * (D / T)) * (T - 1) <= / 4 * (T - 1))
      by (apply Rmult_le_compat_r; [lra|apply share_at_most]); lra.
  - assert (0 <= D / T * (D / T)) by (apply Rmult_le_pos; assumption).
    replace (D - D / T) with (D / T * (T - 1)) by (field; lra); unfold Rdiv; ring.
Qed.

Lemma speed_cold D T : 0 <= D -> 0 < T -> T <= 1 -> - (/ T - 1) / 2 <= speed D T <= 0.
Proof.
  intros nonneg positive cold; rewrite speed_sigmoid.
  assert (D <= D / T) as below.
  { apply Rmult_le_reg_r with T; [lra|]; replace (D / T * T) with D by (field; lra).
    rewrite <- (Rmult_1_r D) at 2; apply Rmult_le_compat_l; lra. }
  destruct (sigmoid_change D (D / T) nonneg below) as [low high].
  split; [|lra].
  assert (1 <= / T) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  replace ((D / T - D) / (4 + D * D)) with (D / (4 + D * D) * (/ T - 1)) in high.
  - assert (D / (4 + D * D) * (/ T - 1) <= / 4 * (/ T - 1))
      by (apply Rmult_le_compat_r; [lra|apply share_at_most]); lra.
  - replace (D / T - D) with (D * (/ T - 1)) by (field; lra); unfold Rdiv; ring.
Qed.

Lemma speed_hot_pos D T : 0 < D -> 1 < T -> 0 < speed D T.
Proof.
  intros positive hot; rewrite speed_sigmoid.
  assert (D / T < D).
  { apply Rmult_lt_reg_r with T; [lra|]; replace (D / T * T) with D by (field; lra).
    rewrite <- (Rmult_1_r D) at 1; apply Rmult_lt_compat_l; lra. }
  pose proof (sigmoid_increases _ _ H); lra.
Qed.

Lemma speed_below_1 D T : 0 <= D -> 1 <= T -> speed D T < 1.
Proof.
  intros nonneg hot; rewrite speed_sigmoid.
  assert (0 <= D / T) as start by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  pose proof (sigmoid_below_1 D).
  assert (/ 2 <= sigmoid (D / T)).
  { unfold sigmoid; pose proof (exp_pos (- (D / T))); pose proof (exp_le_1 (- (D / T)) ltac:(lra)).
    apply Rinv_le_contravar; lra. }
  lra.
Qed.

(** 5/4 and 4/5 have the same bound, 1/8. *)
Lemma switch_speed D is_low :
  0 <= D -> if is_low then 0 <= speed D (switch_temperature is_low) <= / 8
            else - / 8 <= speed D (switch_temperature is_low) <= 0.
Proof.
  intros nonneg; destruct is_low; simpl.
  - pose proof (speed_hot D (5 / 4) nonneg ltac:(lra)); lra.
  - pose proof (speed_cold D (4 / 5) nonneg ltac:(lra) ltac:(lra)) as bounds.
    replace (/ (4 / 5)) with (5 / 4) in bounds by field; lra.
Qed.

(** * The entropy *)

Lemma is_derive_two_answer_entropy D :
  is_derive two_answer_entropy D (- D / (2 + exp D + exp (- D))).
Proof.
  pose proof (exp_pos D) as up; pose proof (exp_pos (- D)) as down.
  unfold two_answer_entropy; evar_last.
  - auto_derive; [split; [|split]; try lra; trivial|reflexivity].
  - assert (exp (- D) * exp D = 1) as one by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
    replace (exp D) with (/ exp (- D)) by (rewrite exp_Ropp, Rinv_inv; reflexivity).
    field; repeat split; try lra.
    pose proof (Rle_0_sqr (1 + exp (- D))) as square; unfold Rsqr in square; lra.
Qed.

Lemma two_answer_slope_bounded D : Rabs (- D / (2 + exp D + exp (- D))) <= / 4.
Proof.
  pose proof (cosh_at_least D) as cosh; pose proof (exp_pos D); pose proof (exp_pos (- D)).
  unfold Rdiv; rewrite Rabs_mult, Rabs_Ropp, (Rabs_pos_eq (/ _)) by (apply Rlt_le, Rinv_0_lt_compat; lra).
  apply Rle_trans with (Rabs D / (4 + Rabs D * Rabs D)); [|apply share_at_most].
  assert (Rabs D * Rabs D = D * D) as square by (rewrite <- Rabs_mult; apply Rabs_pos_eq, Rle_0_sqr).
  rewrite square; pose proof (Rle_0_sqr D) as nonneg; unfold Rsqr in nonneg.
  apply Rmult_le_compat_l; [apply Rabs_pos|apply Rinv_le_contravar; lra].
Qed.

(** |H(D) - H(E)| <= |D - E|/4 *)
Lemma entropy_per_gap D E :
  Rabs (two_answer_entropy D - two_answer_entropy E) <= / 4 * Rabs (D - E).
Proof.
  apply (lipschitz_by_slope two_answer_entropy (fun x => - x / (2 + exp x + exp (- x)))); intros x _.
  - apply is_derive_two_answer_entropy.
  - apply two_answer_slope_bounded.
Qed.

Lemma two_answer_entropy_decreases D E :
  0 <= D -> D < E -> two_answer_entropy E < two_answer_entropy D.
Proof.
  intros nonneg strict.
  assert (- two_answer_entropy D < - two_answer_entropy E); [|lra].
  apply (increasing_by_slope (fun x => - two_answer_entropy x)
           (fun x => - (- x / (2 + exp x + exp (- x))))); [assumption| |].
  - intros x _; apply @is_derive_opp, is_derive_two_answer_entropy.
  - intros x inside; pose proof (exp_pos x); pose proof (exp_pos (- x)).
    unfold Rdiv; rewrite <- Ropp_mult_distr_l, Ropp_involutive.
    apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; lra].
Qed.

Lemma two_answer_entropy_order D E :
  0 <= D -> 0 <= E -> (two_answer_entropy D < two_answer_entropy E <-> E < D).
Proof.
  intros D_nonneg E_nonneg; split; intros below.
  - apply Rnot_le_lt; intros above; destruct (Rle_lt_or_eq_dec _ _ above) as [strict| ->]; [|lra].
    pose proof (two_answer_entropy_decreases D E D_nonneg strict); lra.
  - apply two_answer_entropy_decreases; assumption.
Qed.

(** * Towards the target *)

(** The gap moves towards the target's by s >= 0, and stays within s where it was nearer. *)
Lemma towards_target D target s is_low :
  0 <= s -> (is_low = true <-> target < D) ->
  Rabs (D + (if is_low then - s else s) - target) <= Rmax (Rabs (D - target) - s) s.
Proof.
  intros s_nonneg side; destruct is_low.
  - assert (target < D) by (apply side; reflexivity).
    rewrite (Rabs_pos_eq (D - target)) by lra.
    unfold Rmax; destruct (Rle_dec (D - target - s) s); apply Rabs_le; lra.
  - assert (D <= target) by (apply Rnot_lt_le; intros above; apply side in above; discriminate).
    rewrite (Rabs_left1 (D - target)) by lra.
    unfold Rmax; destruct (Rle_dec (- (D - target) - s) s); apply Rabs_le; lra.
Qed.

Section Switch.

Variables (D target eta : R).
Hypothesis D_nonneg : 0 <= D.
Hypothesis target_nonneg : 0 <= target.
Hypothesis eta_nonneg : 0 <= eta.

Let is_low := less (two_answer_entropy D) (two_answer_entropy target).
Let after_step := D - eta * speed D (switch_temperature is_low).

Lemma is_low_spec : is_low = true <-> target < D.
Proof.
  unfold is_low, less.
  destruct (Rlt_dec (two_answer_entropy D) (two_answer_entropy target)) as [below|above];
    rewrite <- two_answer_entropy_order by assumption; split; auto; try discriminate; contradiction.
Qed.

(** One step of the switch: e' <= max(e - s, eta/8) with s = eta |f|. *)
Lemma switch_step :
  Rabs (after_step - target)
  <= Rmax (Rabs (D - target) - eta * Rabs (speed D (switch_temperature is_low))) (eta / 8).
Proof.
  pose proof (switch_speed D is_low D_nonneg) as bounds.
  set (s := eta * Rabs (speed D (switch_temperature is_low))).
  assert (0 <= s <= eta / 8) as s_bounds.
  { unfold s; split; [apply Rmult_le_pos; [assumption|apply Rabs_pos]|].
    unfold Rdiv; apply Rmult_le_compat_l; [assumption|].
    destruct is_low; apply Rabs_le; lra. }
  assert (after_step = D + (if is_low then - s else s)) as ->.
  { unfold after_step, s; destruct is_low;
      [rewrite Rabs_pos_eq by lra|rewrite Rabs_left1 by lra]; ring. }
  apply Rle_trans with (1 := towards_target D target s is_low (proj1 s_bounds) is_low_spec).
  apply Rle_max_compat_l; lra.
Qed.

Lemma held_in_gap : Rabs (after_step - target) <= Rmax (Rabs (D - target)) (eta / 8).
Proof.
  apply Rle_trans with (1 := switch_step).
  apply Rle_max_compat_r.
  assert (0 <= eta * Rabs (speed D (switch_temperature is_low)))
    by (apply Rmult_le_pos; [assumption|apply Rabs_pos]); lra.
Qed.

Lemma held_in_entropy :
  4 * Rabs (two_answer_entropy after_step - two_answer_entropy target)
  <= Rmax (Rabs (D - target)) (eta / 8).
Proof.
  pose proof held_in_gap; pose proof (entropy_per_gap after_step target); lra.
Qed.

End Switch.

(** * They are the motion and the entropy of two right answers *)

Section Motion.

Variables (z : vector) (T eta : R).
Hypothesis T_pos : 0 < T.

Lemma softmax_two y : softmax 2 y 0 = sigmoid (y 0%nat - y 1%nat) /\ softmax 2 y 1 = 1 - sigmoid (y 0%nat - y 1%nat).
Proof.
  unfold softmax, sigmoid; simpl.
  pose proof (exp_pos (y 0%nat)); pose proof (exp_pos (y 1%nat)).
  replace (- (y 0%nat - y 1%nat)) with (y 1%nat - y 0%nat) by ring.
  unfold Rminus at 1 2; rewrite exp_plus, exp_Ropp; split; field; lra.
Qed.

Lemma two_answer_motion :
  let moved a := z a + eta * unit_step 2 z (fun _ => true) T a in
  moved 0%nat - moved 1%nat = (z 0%nat - z 1%nat) - eta * speed (z 0%nat - z 1%nat) T.
Proof.
  intros moved; unfold moved, unit_step.
  rewrite !only_in, !total_on_everything by (reflexivity || (intros a _; reflexivity)).
  rewrite softmax_sum by lia.
  destruct (softmax_two z) as [-> ->]; destruct (softmax_two (tempered T z)) as [-> ->].
  rewrite speed_sigmoid.
  replace (tempered T z 0%nat - tempered T z 1%nat) with ((z 0%nat - z 1%nat) / T)
    by (unfold tempered; field; lra).
  ring.
Qed.

Lemma entropy_two_answers : entropy 2 z = two_answer_entropy (z 0%nat - z 1%nat).
Proof.
  rewrite entropy_eq by lia; unfold mean; simpl.
  destruct (softmax_two z) as [-> ->].
  unfold two_answer_entropy, sigmoid.
  pose proof (exp_pos (z 0%nat)); pose proof (exp_pos (z 1%nat)).
  set (w := exp (- (z 0%nat - z 1%nat))).
  assert (0 < w) as w_pos by apply exp_pos.
  replace (0 + exp (z 0%nat) + exp (z 1%nat)) with (exp (z 0%nat) * (1 + w)).
  - rewrite ln_mult, ln_exp by (try apply exp_pos; lra); field; lra.
  - unfold w; rewrite Rmult_plus_distr_l, Rmult_1_r, <- exp_plus.
    replace (z 0%nat + - (z 0%nat - z 1%nat)) with (z 1%nat) by ring; ring.
Qed.

End Motion.
