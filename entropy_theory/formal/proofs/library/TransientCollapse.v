(** GRPO and tempered REINFORCE together, on the right answers: at T > 1 no collapse among them lasts.

    With R the range of the right logits, B the least likely right logit minus the largest wrong one and
    eta <= 2: B never falls, and R' - R <= eta [(kappa + 1)(n - m) e^{-B-R} - P_T (e^{-R/T}/m - e^{-R})]. So R
    stays bounded; and as 1 - p vanishes, R does too, and H tends to log m. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional
  Learning LearningLimits RightAnswers.
Open Scope R_scope.

(** B *)
Definition lead (n : nat) (z : vector) (A : mask) : R :=
  smallest_on n A z - largest_on n (complement A) z.

Section One_step.

Variables (n : nat) (z : vector) (A : mask) (T kappa eta : R).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).
Hypothesis hot : 1 < T.
Hypothesis kappa_nonneg : 0 <= kappa.
Hypothesis eta_pos : 0 < eta.
Hypothesis eta_small : eta <= 2.

Let m := count_on n A.
Let others := count_on n (complement A).
Let p := total_on n A (softmax n z).
Let P := total_on n A (softmax n (tempered T z)).
Let missed := total_on n (complement A) (softmax n z).
Let q := conditional n z A.
Let qT := conditional n (tempered T z) A.
Let step := combined_step n z A T kappa 1.
Let after_step := moved eta z step.
Let R := range_on n A z.

Lemma step_facts : 0 < p /\ p < 1 /\ 0 < P /\ P < 1 /\ missed = 1 - p /\ 0 < missed.
Proof.
  pose proof (right_mass_between n z A some wrong T) as hot_mass; fold P in hot_mass.
  pose proof (right_mass_pos n z A some); pose proof (wrong_mass_pos n z A some wrong).
  pose proof (masses_sum n z A some); unfold p, missed; repeat split; lra.
Qed.

Lemma right_combined_step a :
  A a = true -> step a = (kappa * p + P) * (1 - p) * q a + P * (qT a - q a).
Proof.
  intros chosen; unfold step, combined_step.
  rewrite !unit_step_right by assumption; rewrite right_mass_1; fold p P.
  destruct some as (b & b_inside & b_chosen).
  assert (softmax n (tempered 1 z) a = p * q a) as ->.
  { rewrite (softmax_conditional n A some (tempered 1 z) a) by assumption.
    rewrite right_mass_1; fold p; f_equal; unfold q, conditional.
    rewrite (total_on_ext n A (fun d => exp (tempered 1 z d)) (fun d => exp (z d)))
      by (intros; rewrite tempered_1; reflexivity).
    unfold only; rewrite tempered_1; reflexivity. }
  rewrite (softmax_conditional n A some (tempered T z) a), (softmax_conditional n A some z a) by assumption.
  fold P p q qT; ring.
Qed.

(** The order of the right answers is kept. *)
Lemma order_kept a b :
  (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> z b <= z a -> after_step b <= after_step a.
Proof.
  intros a_inside b_inside a_chosen b_chosen below; destruct step_facts as (p0 & p1 & P0 & P1 & _ & _).
  unfold after_step, moved; rewrite !right_combined_step by assumption.
  pose proof (conditional_difference_le n A some z a b a_inside b_inside a_chosen b_chosen below) as cold.
  assert (tempered T z b <= tempered T z a) as tempered_below.
  { unfold tempered, Rdiv; apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|assumption]. }
  pose proof (conditional_difference_le n A some (tempered T z) a b a_inside b_inside a_chosen b_chosen
                tempered_below) as warm.
  fold q in cold; fold qT in warm.
  assert (0 <= (kappa * p + P) * (1 - p) * (q a - q b)) as apart.
  { apply Rmult_le_pos; [apply Rmult_le_pos; [|lra]|lra].
    assert (0 <= kappa * p) by (apply Rmult_le_pos; lra); lra. }
  assert (0 <= P * (qT a - qT b)) as hot_apart by (apply Rmult_le_pos; lra).
  assert (eta * (P * (q a - q b)) <= 2 * (1 * ((z a - z b) / 2))) as together.
  { apply Rmult_le_compat; [lra|apply Rmult_le_pos; lra|lra|apply Rmult_le_compat; lra]. }
  assert (0 <= eta * ((kappa * p + P) * (1 - p) * (q a - q b) + P * (qT a - qT b))) by (apply Rmult_le_pos; lra).
  lra.
Qed.

Lemma least_likely_stays b :
  (b < n)%nat -> A b = true -> z b = smallest_on n A z -> smallest_on n A after_step = after_step b.
Proof.
  intros inside chosen bottom; apply smallest_on_eq with b; [assumption|assumption|reflexivity|].
  intros a a_inside a_chosen; apply order_kept; try assumption.
  rewrite bottom; apply smallest_on_le; assumption.
Qed.

Lemma likeliest_stays t :
  (t < n)%nat -> A t = true -> z t = largest_on n A z -> largest_on n A after_step = after_step t.
Proof.
  intros inside chosen top; apply largest_on_eq with t; [assumption|assumption|reflexivity|].
  intros a a_inside a_chosen; apply order_kept; try assumption.
  rewrite top; apply largest_on_ge; assumption.
Qed.

Lemma gain_nonneg b :
  (b < n)%nat -> A b = true -> z b = smallest_on n A z -> 0 <= qT b - q b.
Proof.
  intros inside chosen bottom.
  pose proof (bottom_gains n A some z 1 T b ltac:(lra) ltac:(lra) inside chosen bottom) as gain.
  rewrite (conditional_ext n A (tempered 1 z) z) in gain by (assumption || (intros; apply tempered_1)).
  fold q qT in gain; lra.
Qed.

(** B never falls. *)
Theorem lead_never_falls : lead n z A <= lead n after_step A.
Proof.
  destruct step_facts as (p0 & p1 & P0 & P1 & _ & _).
  destruct (smallest_on_attained n A z some) as (b & inside & chosen & bottom).
  unfold lead; rewrite (least_likely_stays b) by (assumption || (symmetry; assumption)).
  pose proof (largest_wrong_falls n z A some wrong T eta kappa 1 ltac:(lra) kappa_nonneg ltac:(lra)) as falls.
  change (moved eta z (combined_step n z A T kappa 1)) with after_step in falls.
  assert (z b <= after_step b); [|lra].
  unfold after_step, moved; rewrite right_combined_step by assumption.
  pose proof (gain_nonneg b inside chosen ltac:(symmetry; assumption)).
  pose proof (conditional_nonneg n A some z b); fold q in H0.
  assert (0 <= kappa * p) by (apply Rmult_le_pos; lra).
  assert (0 <= eta * ((kappa * p + P) * (1 - p) * q b + P * (qT b - q b))).
  { apply Rmult_le_pos; [lra|apply Rplus_le_le_0_compat].
    - apply Rmult_le_pos; [apply Rmult_le_pos; lra|assumption].
    - apply Rmult_le_pos; lra. }
  lra.
Qed.

(** R' - R <= eta [(kappa + 1)(1 - p) - P_T (q^T_b - q_b)] *)
Lemma range_change_bound b :
  (b < n)%nat -> A b = true -> z b = smallest_on n A z ->
  range_on n A after_step - R <= eta * ((kappa + 1) * missed - P * (qT b - q b)).
Proof.
  intros inside chosen bottom; destruct step_facts as (p0 & p1 & P0 & P1 & missed_eq & _).
  destruct (largest_on_attained n A z some) as (t & t_inside & t_chosen & top).
  unfold R, range_on.
  rewrite (least_likely_stays b), (likeliest_stays t) by (assumption || (symmetry; assumption)).
  rewrite top, <- bottom; unfold after_step, moved; rewrite !right_combined_step by assumption.
  pose proof (top_loses n A some z 1 T t ltac:(lra) ltac:(lra) t_inside t_chosen (eq_sym top)) as loss.
  rewrite (conditional_ext n A (tempered 1 z) z) in loss by (assumption || (intros; apply tempered_1)).
  fold q qT in loss.
  pose proof (conditional_le_1 n A some z t t_inside); pose proof (conditional_nonneg n A some z b).
  fold q in H, H0.
  assert (0 <= q t - q b).
  { apply (conditional_difference_le n A some z t b); try assumption.
    rewrite bottom; apply smallest_on_le; assumption. }
  assert (0 <= kappa * p <= kappa) as weight.
  { split; [apply Rmult_le_pos; lra|].
    rewrite <- (Rmult_1_r kappa) at 2; apply Rmult_le_compat_l; lra. }
  assert ((kappa * p + P) * (1 - p) * (q t - q b) <= (kappa + 1) * missed * 1) as apart.
  { rewrite missed_eq; apply Rmult_le_compat; [apply Rmult_le_pos; lra|assumption| |lra].
    apply Rmult_le_compat_r; lra. }
  assert (P * (qT t - q t) <= 0) as top_falls.
  { assert (0 <= P * (q t - qT t)) by (apply Rmult_le_pos; lra); lra. }
  replace (z t + eta * ((kappa * p + P) * (1 - p) * q t + P * (qT t - q t))
           - (z b + eta * ((kappa * p + P) * (1 - p) * q b + P * (qT b - q b))) - (z t - z b))
    with (eta * ((kappa * p + P) * (1 - p) * (q t - q b) + P * (qT t - q t) - P * (qT b - q b))) by ring.
  apply Rmult_le_compat_l; lra.
Qed.

(** 1 - p <= (n - m) e^{-B-R}, the exponent being the likeliest right logit minus the largest wrong one. *)
Lemma missed_at_most : missed <= others * exp (largest_on n (complement A) z - largest_on n A z).
Proof.
  destruct (largest_on_attained n A z some) as (t & t_inside & t_chosen & top).
  pose proof (wrong_weight_at_most n z A) as wrong_weight; fold others in wrong_weight.
  unfold missed, softmax; rewrite total_on_div.
  pose proof (normalizer_pos n z (nonempty_inhabited n A some)) as normalizer.
  assert (exp (largest_on n A z) <= sum n (fun b => exp (z b))) as right_weight.
  { rewrite top; apply (sum_ge_term n (fun b => exp (z b))); [intros; apply Rlt_le, exp_pos|assumption]. }
  apply Rmult_le_reg_r with (sum n (fun b => exp (z b))); [assumption|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (1 := wrong_weight).
  apply Rle_trans with
    (others * exp (largest_on n (complement A) z - largest_on n A z) * exp (largest_on n A z)).
  - right; unfold Rminus; rewrite exp_plus, exp_Ropp; pose proof (exp_pos (largest_on n A z)); field; lra.
  - apply Rmult_le_compat_l; [|assumption].
    apply Rmult_le_pos; [apply Rlt_le, count_on_pos, wrong|apply Rlt_le, exp_pos].
Qed.

Theorem range_change_at_most :
  range_on n A after_step - R
  <= eta * ((kappa + 1) * (others * exp (largest_on n (complement A) z - largest_on n A z))
            - P * (exp (- R / T) / m - exp (- R))).
Proof.
  destruct step_facts as (p0 & p1 & P0 & P1 & _ & _).
  destruct (smallest_on_attained n A z some) as (b & inside & chosen & bottom).
  apply Rle_trans with (1 := range_change_bound b inside chosen (eq_sym bottom)).
  apply Rmult_le_compat_l; [lra|].
  pose proof missed_at_most.
  assert ((kappa + 1) * missed
          <= (kappa + 1) * (others * exp (largest_on n (complement A) z - largest_on n A z)))
    by (apply Rmult_le_compat_l; lra).
  assert (P * (exp (- R / T) / m - exp (- R)) <= P * (qT b - q b)); [|lra].
  apply Rmult_le_compat_l; [lra|].
  pose proof (conditional_at_least n A some (tempered T z) b inside chosen) as gain.
  rewrite range_tempered in gain by (assumption || lra); fold R m qT in gain.
  replace (- (R / T)) with (- R / T) in gain by (unfold Rdiv; ring).
  pose proof (least_likely_at_most n A some z b inside chosen (eq_sym bottom)) as most.
  fold q R in most; lra.
Qed.

(** The same with the gain of the least likely answer, (e^{-R/T} - e^{-R})/m^2. *)
Theorem range_change_near :
  range_on n A after_step - R
  <= eta * ((kappa + 1) * missed - P * ((exp (- R / T) - exp (- R)) / (m * m))).
Proof.
  destruct step_facts as (p0 & p1 & P0 & P1 & _ & _).
  destruct (smallest_on_attained n A z some) as (b & inside & chosen & bottom).
  apply Rle_trans with (1 := range_change_bound b inside chosen (eq_sym bottom)).
  apply Rmult_le_compat_l; [lra|].
  pose proof (bottom_gain_at_least n A some z T b hot inside chosen (eq_sym bottom)) as gain.
  fold R m q qT in gain.
  assert (P * ((exp (- R / T) - exp (- R)) / (m * m)) <= P * (qT b - q b))
    by (apply Rmult_le_compat_l; lra); lra.
Qed.

End One_step.
