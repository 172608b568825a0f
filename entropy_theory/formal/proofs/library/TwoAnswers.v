(** Two right answers on the solved face: one number, D = |z_1 - z_2|, is the whole motion.

      D' = D - eta f_T(D),   f_T(D) = tanh(D/2) - tanh(D/(2T)),   |f_T| <= (1/2) max(T - 1, 1/T - 1),

    and the entropy falls with D, by at most a quarter of the change of D. The names are those of
    [entropy_theory/claims/extensions/solved_face.py]. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone.
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

Lemma speed_at_most_half D T : 0 <= D -> 0 < T -> speed D T <= D / 2.
Proof.
  intros nonneg positive; rewrite speed_sigmoid.
  assert (0 <= D / T) as start by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  pose proof (sigmoid_change 0 D ltac:(lra) nonneg) as whole.
  pose proof (sigmoid_change 0 (D / T) ltac:(lra) start) as part.
  replace ((D - 0) / (4 + 0 * 0)) with (D / 4) in whole by field; lra.
Qed.

Lemma sigmoid_opp x : sigmoid (- x) = 1 - sigmoid x.
Proof.
  unfold sigmoid; rewrite Ropp_involutive.
  assert (exp x * exp (- x) = 1) as one by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  pose proof (exp_pos x); pose proof (exp_pos (- x)).
  apply Rmult_eq_reg_l with ((1 + exp x) * (1 + exp (- x))); [|apply Rgt_not_eq, Rmult_lt_0_compat; lra].
  field_simplify; lra.
Qed.

Lemma speed_opp D T : speed (- D) T = - speed D T.
Proof.
  rewrite !speed_sigmoid; replace (- D / T) with (- (D / T)) by (unfold Rdiv; ring).
  rewrite !sigmoid_opp; ring.
Qed.

(** 5/4 and 4/5 have the same bound, 1/8. *)
Lemma switch_speed D (is_low : bool) :
  0 <= D -> if is_low then 0 <= speed D (switch_temperature is_low) <= / 8
            else - / 8 <= speed D (switch_temperature is_low) <= 0.
Proof.
  intros nonneg; destruct is_low; simpl.
  - pose proof (speed_hot D (5 / 4) nonneg ltac:(lra)); lra.
  - pose proof (speed_cold D (4 / 5) nonneg ltac:(lra) ltac:(lra)) as bounds.
    replace (/ (4 / 5)) with (5 / 4) in bounds by field; lra.
Qed.

(** * The entropy *)

Lemma two_answer_entropy_opp D : two_answer_entropy (- D) = two_answer_entropy D.
Proof.
  unfold two_answer_entropy; rewrite Ropp_involutive.
  pose proof (exp_pos D); pose proof (exp_pos (- D)).
  assert (exp D * exp (- D) = 1) as one by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (1 + exp D = exp D * (1 + exp (- D))) as factor by lra.
  rewrite factor, ln_mult, ln_exp by lra.
  replace (- D * exp D / (exp D * (1 + exp (- D)))) with (- D / (1 + exp (- D))) by (field; lra).
  field_simplify; [|lra|lra]; f_equal; ring.
Qed.

Lemma is_derive_two_answer_entropy D :
  is_derive two_answer_entropy D (- D / (2 + exp D + exp (- D))).
Proof.
  pose proof (exp_pos D) as up; pose proof (exp_pos (- D)) as down.
  unfold two_answer_entropy; evar_last.
  - auto_derive; [repeat split; trivial; try (apply Rgt_not_eq); lra|reflexivity].
  - assert (exp (- D) * exp D = 1) as one by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
    replace (exp D) with (/ exp (- D)) by (rewrite exp_Ropp, Rinv_inv; reflexivity).
    assert (0 < exp (- D) * exp (- D)) by (apply Rmult_lt_0_compat; assumption).
    field; repeat split; apply Rgt_not_eq; lra.
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
Lemma towards_target D target s (is_low : bool) :
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

Lemma softmax_two y :
  softmax 2 y 0%nat = sigmoid (y 0%nat - y 1%nat) /\ softmax 2 y 1%nat = 1 - sigmoid (y 0%nat - y 1%nat).
Proof.
  unfold softmax, sigmoid; simpl.
  pose proof (exp_pos (y 0%nat)); pose proof (exp_pos (y 1%nat)).
  replace (- (y 0%nat - y 1%nat)) with (y 1%nat - y 0%nat) by ring.
  assert (exp (y 1%nat - y 0%nat) = exp (y 1%nat) * / exp (y 0%nat)) as ->
    by (unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity).
  split; field; lra.
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

(** Under the switch, with eta <= 2, the answers keep their order; the distance of their logits from the
    target's and that of the entropy stay within the bounds above. *)
Lemma two_answers_held (z : vector) (target eta : R) :
  0 <= target -> 0 <= eta -> eta <= 2 ->
  let T := switch_temperature (less (entropy 2 z) (two_answer_entropy target)) in
  let moved a := z a + eta * unit_step 2 z (fun _ => true) T a in
  let D := Rabs (z 0%nat - z 1%nat) in
  let D' := Rabs (moved 0%nat - moved 1%nat) in
  D' = D - eta * speed D T
  /\ Rabs (D' - target) <= Rmax (Rabs (D - target)) (eta / 8)
  /\ 4 * Rabs (entropy 2 moved - two_answer_entropy target) <= Rmax (Rabs (D - target)) (eta / 8).
Proof.
  intros target_nonneg eta_nonneg small T moved D D'.
  assert (forall y, entropy 2 y = two_answer_entropy (Rabs (y 0%nat - y 1%nat))) as by_gap.
  { intros y; rewrite entropy_two_answers; unfold Rabs; destruct (Rcase_abs _); [|reflexivity].
    symmetry; apply two_answer_entropy_opp. }
  assert (0 < T) as T_pos by (unfold T, switch_temperature; destruct (less _ _); lra).
  assert (0 <= D) as D_nonneg by apply Rabs_pos.
  assert (D' = D - eta * speed D T) as motion.
  { pose proof (two_answer_motion z T eta T_pos) as signed; simpl in signed; fold moved in signed.
    pose proof (speed_at_most_half D T D_nonneg T_pos) as limit.
    assert (eta * speed D T <= 2 * (D / 2)) as no_overshoot.
    { destruct (Rle_dec 0 (speed D T)).
      - apply Rmult_le_compat; lra.
      - assert (0 <= eta * - speed D T) by (apply Rmult_le_pos; lra); lra. }
    unfold D'; change (moved 0%nat - moved 1%nat) with
      (z 0%nat + eta * unit_step 2 z (fun _ => true) T 0%nat
       - (z 1%nat + eta * unit_step 2 z (fun _ => true) T 1%nat)).
    rewrite signed.
    assert (D = z 0%nat - z 1%nat \/ D = - (z 0%nat - z 1%nat)) as [same|opposite].
    { unfold D, Rabs; destruct (Rcase_abs _); auto. }
    - rewrite <- same; apply Rabs_pos_eq; lra.
    - replace (z 0%nat - z 1%nat) with (- D) by lra.
      rewrite speed_opp, <- Rabs_Ropp.
      replace (- (- D - eta * - speed D T)) with (D - eta * speed D T) by ring.
      apply Rabs_pos_eq; lra. }
  split; [exact motion|].
  assert (T = switch_temperature (less (two_answer_entropy D) (two_answer_entropy target))) as T_eq
    by (unfold T; rewrite by_gap; reflexivity).
  rewrite T_eq in motion; split.
  - rewrite motion; apply held_in_gap; assumption.
  - rewrite by_gap; fold D'; rewrite motion; apply held_in_entropy; assumption.
Qed.
