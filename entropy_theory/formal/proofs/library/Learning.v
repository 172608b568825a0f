(** What GRPO and tempered REINFORCE learn together at one state, in exact expected steps.

    With m of n actions right, k = n - m, p and P_T their probabilities under pi and pi^T, and the gap
    Phi = mean_{A*} z - max_{wrong} z:

    - Phi rises by at least eta (kappa p + alpha P_T)(1 - p)/m in a step, at any temperature;
    - 1 - p falls at most by the factor e^{-eta (kappa + alpha)};
    - 1 - p <= (k/m) e^{-Phi} p, so that an entropy is bounded by the gap of any earlier policy, and
    - 1 - p tends to zero, so that limsup H <= log m.

    The names are those of [entropy_theory/claims/extensions/entropy_ceiling.py]. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone.
Open Scope R_scope.

(** Expected GRPO of weight kappa and tempered REINFORCE of weight alpha, per unit learning rate. *)
Definition combined_step (n : nat) (z : vector) (correct : mask) (temperature kappa alpha : R) : vector :=
  fun a => kappa * unit_step n z correct 1 a + alpha * unit_step n z correct temperature a.
Definition aepo_step (n : nat) (z : vector) (correct : mask) (temperature grpo_weight : R) : vector :=
  fun a => grpo_weight * unit_step n z correct 1 a + unit_step n z correct temperature a.

Definition moved (eta : R) (z step : vector) : vector := fun a => z a + eta * step a.

(** A run with a step size, a temperature and a GRPO weight for each step, which may depend on all that came
    before. *)
Definition aepo_run (n : nat) (correct : mask) (eta : nat -> R) (alpha : R) (temperature kappa : nat -> R)
    (start : vector) : nat -> vector :=
  run (fun j z => moved (eta j) z (combined_step n z correct (temperature j) (kappa j) alpha)) start.

(** Phi *)
Definition gap (n : nat) (z : vector) (correct : mask) : R :=
  total_on n correct z / count_on n correct - largest_on n (complement correct) z.

(** Upper bound on the entropy of this policy and of all that follow it. *)
Definition ceiling (n : nat) (z : vector) (correct : mask) : R :=
  let m := count_on n correct in
  let wrong := count_on n (complement correct) in
  let log_e := ln (wrong / m) - gap n z correct in
  let e := exp log_e in
  if less e (wrong / INR n)
  then ln m - e * log_e - (1 - e) * ln (1 + - e) + e * ln (wrong / m)
  else ln (INR n).

Lemma aepo_step_combined n z A T kappa a : aepo_step n z A T kappa a = combined_step n z A T kappa 1 a.
Proof. unfold aepo_step, combined_step; ring. Qed.

(** * One step *)

Section One_state.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).

Let m := count_on n A.
Let k := count_on n (complement A).
Local Notation right_mass T := (total_on n A (softmax n (tempered T z))).

Lemma n_positive : (0 < n)%nat.
Proof. exact (nonempty_inhabited n A some). Qed.

Lemma right_mass_between T : 0 < right_mass T < 1.
Proof.
  pose proof (right_mass_pos n (tempered T z) A some).
  pose proof (wrong_mass_pos n (tempered T z) A some wrong).
  pose proof (masses_sum n (tempered T z) A some); lra.
Qed.

Lemma right_mass_1 : right_mass 1 = total_on n A (softmax n z).
Proof. apply total_on_ext; intros; apply softmax_tempered_1; assumption. Qed.

Lemma unit_step_right T a :
  A a = true -> unit_step n z A T a = softmax n (tempered T z) a - right_mass T * softmax n z a.
Proof. intros chosen; unfold unit_step; rewrite only_in by assumption; reflexivity. Qed.

Lemma unit_step_wrong T a : A a = false -> unit_step n z A T a = - (right_mass T * softmax n z a).
Proof.
  intros not_chosen; unfold unit_step; rewrite only_out by assumption; ring.
Qed.

Lemma unit_step_wrong_nonpos T a : A a = false -> unit_step n z A T a <= 0.
Proof.
  intros not_chosen; rewrite unit_step_wrong by assumption.
  pose proof (right_mass_between T).
  pose proof (softmax_pos n z a n_positive).
  assert (0 < right_mass T * softmax n z a) by (apply Rmult_lt_0_compat; lra).
  lra.
Qed.

Lemma unit_step_total T :
  total_on n A (unit_step n z A T) = right_mass T * (1 - right_mass 1).
Proof.
  rewrite (total_on_ext n A _ (fun a => softmax n (tempered T z) a - right_mass T * softmax n z a))
    by (intros; apply unit_step_right; assumption).
  rewrite total_on_minus, total_on_scal, right_mass_1; ring.
Qed.

Section Step.

Variables (T eta kappa alpha : R).
Hypothesis eta_nonneg : 0 <= eta.
Hypothesis kappa_nonneg : 0 <= kappa.
Hypothesis alpha_nonneg : 0 <= alpha.

Let after_step := moved eta z (combined_step n z A T kappa alpha).

Lemma wrong_logits_fall a : A a = false -> after_step a <= z a.
Proof.
  intros not_chosen; unfold after_step, moved, combined_step.
  pose proof (unit_step_wrong_nonpos 1 a not_chosen) as plain.
  pose proof (unit_step_wrong_nonpos T a not_chosen) as tempered.
  assert (0 <= eta * (kappa * - unit_step n z A 1 a + alpha * - unit_step n z A T a)) as fall.
  { apply Rmult_le_pos; [assumption|].
    apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra. }
  lra.
Qed.

Lemma largest_wrong_falls :
  largest_on n (complement A) after_step <= largest_on n (complement A) z.
Proof.
  apply largest_on_mono; [exact wrong|]; intros a inside chosen.
  apply wrong_logits_fall, complement_true, chosen.
Qed.

Lemma right_logits_rise :
  total_on n A after_step =
  total_on n A z + eta * ((kappa * right_mass 1 + alpha * right_mass T) * (1 - right_mass 1)).
Proof.
  unfold after_step, moved.
  rewrite total_on_plus, total_on_scal; unfold combined_step.
  rewrite total_on_plus, !total_on_scal, !unit_step_total; ring.
Qed.

Lemma gap_grows :
  gap n z A + eta * ((kappa * right_mass 1 + alpha * right_mass T) * (1 - right_mass 1)) / m
  <= gap n after_step A.
Proof.
  pose proof (count_on_pos n A some) as m_pos.
  pose proof largest_wrong_falls.
  unfold gap; rewrite right_logits_rise; fold m in m_pos |- *.
  replace ((total_on n A z + eta * ((kappa * right_mass 1 + alpha * right_mass T) * (1 - right_mass 1))) / m)
    with (total_on n A z / m
          + eta * ((kappa * right_mass 1 + alpha * right_mass T) * (1 - right_mass 1)) / m)
    by (field; lra).
  lra.
Qed.

Lemma gap_never_falls : gap n z A <= gap n after_step A.
Proof.
  pose proof gap_grows as grows.
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof (right_mass_between 1); pose proof (right_mass_between T).
  assert (0 <= eta * ((kappa * right_mass 1 + alpha * right_mass T) * (1 - right_mass 1)) / m).
  { apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, m_pos].
    apply Rmult_le_pos; [assumption|apply Rmult_le_pos; [|lra]].
    apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra. }
  lra.
Qed.

(** A right logit gains at most eta (kappa + alpha) on a wrong one. *)
Lemma unit_step_apart S a b :
  0 < S -> (a < n)%nat -> (b < n)%nat -> A a = true -> A b = false ->
  unit_step n z A S a - unit_step n z A S b <= 1.
Proof.
  intros S_pos a_inside b_inside right out; rewrite unit_step_right, unit_step_wrong by assumption.
  pose proof (right_mass_between S) as between; pose proof n_positive as some_actions.
  pose proof (softmax_pos n z a some_actions); pose proof (softmax_le_1 n z b b_inside).
  pose proof (softmax_le_1 n (tempered S z) a a_inside).
  destruct (Rle_lt_dec (z b) (z a)) as [ahead|behind].
  - pose proof (softmax_le n z b a some_actions ahead); nra.
  - assert (softmax n (tempered S z) a <= softmax n (tempered S z) b) as hot.
    { apply softmax_le; [assumption|]; unfold tempered, Rdiv; apply Rmult_le_compat_r; [|lra].
      apply Rlt_le, Rinv_0_lt_compat, S_pos. }
    assert (softmax n (tempered S z) b <= total_on n (complement A) (softmax n (tempered S z))) as part.
    { apply (total_on_ge_term n (complement A)); [|assumption|apply complement_true, out].
      intros; apply Rlt_le, softmax_pos, some_actions. }
    pose proof (masses_sum n (tempered S z) A some); nra.
Qed.

Lemma wrong_mass_stays :
  0 < T ->
  exp (- (eta * (kappa + alpha))) * total_on n (complement A) (softmax n z)
  <= total_on n (complement A) (softmax n after_step).
Proof.
  intros T_pos; set (fall := exp (- (eta * (kappa + alpha)))).
  assert (0 < fall <= 1) as fall_range.
  { split; [apply exp_pos|]; rewrite <- exp_0; unfold fall.
    assert (0 <= eta * (kappa + alpha)) as nonneg by (apply Rmult_le_pos; lra).
    destruct (Rle_lt_or_eq_dec _ _ nonneg) as [strict|<-]; [apply Rlt_le, exp_increasing; lra|rewrite Ropp_0; lra]. }
  set (right_weight y := total_on n A (fun a => exp (y a))).
  set (wrong_weight y := total_on n (complement A) (fun a => exp (y a))).
  assert (forall y, total_on n (complement A) (softmax n y) = wrong_weight y / (right_weight y + wrong_weight y))
    as mass.
  { intros y; unfold softmax, right_weight, wrong_weight; rewrite total_on_div, total_on_complement; reflexivity. }
  assert (forall y, 0 < right_weight y /\ 0 < wrong_weight y) as positive
    by (intros y; split; apply total_on_pos; try assumption; intros; apply exp_pos).
  assert (fall * (right_weight after_step * wrong_weight z) <= right_weight z * wrong_weight after_step) as odds.
  { unfold right_weight; rewrite <- !total_on_scal_r, <- total_on_scal; apply total_on_le; intros a a_inside right.
    unfold wrong_weight; rewrite <- !total_on_scal; apply total_on_le; intros b b_inside chosen.
    apply complement_true in chosen; unfold fall; rewrite <- !exp_plus; apply exp_le.
    unfold after_step, moved, combined_step.
    pose proof (unit_step_apart 1 a b Rlt_0_1 a_inside b_inside right chosen) as plain.
    pose proof (unit_step_apart T a b T_pos a_inside b_inside right chosen) as tempered.
    assert (eta * (kappa * (unit_step n z A 1 a - unit_step n z A 1 b)
                   + alpha * (unit_step n z A T a - unit_step n z A T b)) <= eta * (kappa * 1 + alpha * 1)).
    { apply Rmult_le_compat_l; [assumption|]; apply Rplus_le_compat; apply Rmult_le_compat_l; assumption. }
    lra. }
  rewrite !mass; destruct (positive z), (positive after_step).
  apply Rmult_le_reg_r with ((right_weight z + wrong_weight z) * (right_weight after_step + wrong_weight after_step)).
  { apply Rmult_lt_0_compat; lra. }
  replace (fall * (wrong_weight z / (right_weight z + wrong_weight z))
           * ((right_weight z + wrong_weight z) * (right_weight after_step + wrong_weight after_step)))
    with (fall * (right_weight after_step * wrong_weight z) + fall * (wrong_weight z * wrong_weight after_step))
    by (field; lra).
  replace (wrong_weight after_step / (right_weight after_step + wrong_weight after_step)
           * ((right_weight z + wrong_weight z) * (right_weight after_step + wrong_weight after_step)))
    with (right_weight z * wrong_weight after_step + wrong_weight z * wrong_weight after_step) by (field; lra).
  apply Rplus_le_compat; [exact odds|].
  rewrite <- (Rmult_1_l (wrong_weight z * wrong_weight after_step)) at 2.
  apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra].
Qed.

End Step.

(** * The gap bounds the probability of the wrong actions *)

Lemma right_weight_at_least :
  m * exp (total_on n A z / m) <= total_on n A (fun a => exp (z a)).
Proof.
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  set (mu := total_on n A z / m).
  assert (total_on n A (fun a => exp mu * (1 + (z a - mu))) = m * exp mu) as linear.
  { rewrite total_on_scal, total_on_plus, total_on_minus, !total_on_const; fold m.
    unfold mu; field; lra. }
  rewrite <- linear; apply total_on_le; intros a inside chosen.
  replace (z a) with (mu + (z a - mu)) at 2 by ring.
  rewrite exp_plus; apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|apply exp_ineq1_le].
Qed.

Lemma wrong_weight_at_most :
  total_on n (complement A) (fun a => exp (z a)) <= k * exp (largest_on n (complement A) z).
Proof.
  apply total_on_le_count; intros a inside chosen.
  destruct (Rle_lt_or_eq_dec _ _ (largest_on_ge n (complement A) z a inside chosen)) as [below|same].
  - apply Rlt_le, exp_increasing, below.
  - rewrite <- same; lra.
Qed.

Lemma wrong_mass_at_most :
  total_on n (complement A) (softmax n z)
  <= k / m * exp (- gap n z A) * total_on n A (softmax n z).
Proof.
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof (count_on_pos n (complement A) wrong) as k_pos; fold k in k_pos.
  pose proof (normalizer_pos n z n_positive) as normalizer.
  unfold softmax; rewrite !total_on_div.
  replace (k / m * exp (- gap n z A) * (total_on n A (fun a => exp (z a)) / sum n (fun b => exp (z b))))
    with (k / m * exp (- gap n z A) * total_on n A (fun a => exp (z a)) * / sum n (fun b => exp (z b)))
    by (unfold Rdiv; ring).
  unfold Rdiv at 1.
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, normalizer|].
  apply Rle_trans with (1 := wrong_weight_at_most).
  apply Rle_trans with (k / m * exp (- gap n z A) * (m * exp (total_on n A z / m))).
  - right; unfold gap; fold m.
    replace (- (total_on n A z / m - largest_on n (complement A) z))
      with (largest_on n (complement A) z - total_on n A z / m) by ring.
    unfold Rminus; rewrite exp_plus, exp_Ropp.
    pose proof (exp_pos (total_on n A z / m)); field; split; lra.
  - apply Rmult_le_compat_l; [|exact right_weight_at_least].
    apply Rmult_le_pos; [|apply Rlt_le, exp_pos].
    apply Rlt_le, Rdiv_lt_0_compat; assumption.
Qed.

Lemma wrong_mass_at_most_exp :
  total_on n (complement A) (softmax n z) <= k / m * exp (- gap n z A).
Proof.
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof (count_on_pos n (complement A) wrong) as k_pos; fold k in k_pos.
  apply Rle_trans with (1 := wrong_mass_at_most).
  rewrite <- (Rmult_1_r (k / m * exp (- gap n z A))) at 2.
  apply Rmult_le_compat_l.
  - apply Rmult_le_pos; [apply Rlt_le, Rdiv_lt_0_compat; assumption|apply Rlt_le, exp_pos].
  - pose proof (masses_sum n z A some); pose proof (wrong_mass_pos n z A some wrong); lra.
Qed.

Lemma right_mass_at_least :
  / (1 + k / m * exp (- gap n z A)) <= total_on n A (softmax n z).
Proof.
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof (count_on_pos n (complement A) wrong) as k_pos; fold k in k_pos.
  pose proof wrong_mass_at_most as bound.
  pose proof (masses_sum n z A some) as one.
  set (odds := k / m * exp (- gap n z A)) in *.
  assert (0 < odds) as odds_pos
    by (apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; assumption|apply exp_pos]).
  apply Rmult_le_reg_l with (1 + odds); [lra|].
  rewrite Rinv_r by lra; lra.
Qed.

Lemma gap_tempered T : 0 < T -> gap n (tempered T z) A = gap n z A / T.
Proof.
  intros positive; unfold gap, tempered.
  rewrite total_on_div, largest_on_div by assumption.
  field; split; [pose proof (count_on_pos n A some); lra|lra].
Qed.

(** * The ceiling *)

(** It bounds the entropy of every policy whose gap is not smaller. *)
Lemma entropy_below_ceiling y : gap n z A <= gap n y A ->
  total_on n (complement A) (softmax n y) <= k / m * exp (- gap n y A) ->
  entropy n y <= ceiling n z A.
Proof.
  intros grown bound.
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof (count_on_pos n (complement A) wrong) as k_pos; fold k in k_pos.
  pose proof (count_on_complement n A) as all; fold m k in all.
  unfold ceiling; fold m.
  fold k.
  set (log_e := ln (k / m) - gap n z A).
  assert (exp log_e = k / m * exp (- gap n z A)) as e_eq.
  { unfold log_e, Rminus; rewrite exp_plus, exp_ln; [reflexivity|apply Rdiv_lt_0_compat; assumption]. }
  unfold less; destruct (Rlt_dec (exp log_e) (k / INR n)) as [small|large].
  2: { apply entropy_at_most_log, n_positive. }
  apply Rle_trans with (1 := entropy_at_most_widest_entropy n y A some wrong); fold m k.
  replace (ln m - exp log_e * log_e - (1 - exp log_e) * ln (1 + - exp log_e) + exp log_e * ln (k / m))
    with (widest_entropy m k (exp log_e)) by (unfold widest_entropy; rewrite ln_exp; reflexivity).
  apply widest_entropy_increases; [assumption|assumption| | |].
  - exact (wrong_mass_pos n y A some wrong).
  - apply Rle_trans with (1 := bound); rewrite e_eq.
    apply Rmult_le_compat_l; [apply Rlt_le, Rdiv_lt_0_compat; assumption|].
    destruct (Rle_lt_or_eq_dec _ _ grown) as [more|same].
    + apply Rlt_le, exp_increasing; lra.
    + rewrite same; lra.
  - rewrite all; apply Rlt_le, Rmult_lt_reg_r with (/ INR n).
    + apply Rinv_0_lt_compat; lra.
    + rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra; exact small.
Qed.

End One_state.

Lemma entropy_at_most_ceiling n z y A :
  nonempty n A -> nonempty n (complement A) -> gap n z A <= gap n y A ->
  entropy n y <= ceiling n z A.
Proof.
  intros some wrong grown; apply entropy_below_ceiling; try assumption.
  apply wrong_mass_at_most_exp; assumption.
Qed.
