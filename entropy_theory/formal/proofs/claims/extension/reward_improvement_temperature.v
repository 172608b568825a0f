(** Up to which temperature an expected step of tempered REINFORCE improves the reward, to first order. Its
    derivative along the step is P_T r(T), where r(T) = <grad p, q^T - pi> does not increase with T and is at
    least p (1 - p)^2 sum_A q^2 for T <= 1. So it is positive exactly for T < T_R, where 1 < T_R <= infinity;
    and T_R is infinite exactly if (1 - p)/m + sum_{wrong} pi^2 >= p (1 - p) sum_A q^2. An extension of AEPO's
    Section 4.2. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Conditional Learning Reward
  RewardRate StatementForms.
From Trusted.Statements.extension Require reward_improvement_temperature.
Open Scope R_scope.

Theorem up_to_one_temperature :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct -> ~ everything n correct ->
  let pi := softmax n logits in
  let p := total_on n correct pi in
  let q := conditional n logits correct in
  let squares := total_on n correct (fun a => q a * q a) in
  let wrong_squares := total_on n (complement correct) (fun a => pi a * pi a) in
  let rate (T : R) := covariance n pi (only correct (fun _ => 1))
                        (fun a => conditional n (tempered T logits) correct a - pi a) in
  (forall T, 0 < T ->
     derivative (fun eta => total_on n correct
                   (softmax n (fun a => logits a + eta * unit_step n logits correct T a))) 0
       (total_on n correct (softmax n (tempered T logits)) * rate T))
  /\ (forall T T', 0 < T -> T <= T' -> rate T' <= rate T)
  /\ (forall T, 0 < T -> T <= 1 -> p * (1 - p) * (1 - p) * squares + p * wrong_squares <= rate T)
  /\ ((forall T, 0 < T -> 0 < rate T)
      \/ exists T_R, 1 < T_R /\ forall T, 0 < T -> (0 < rate T <-> T < T_R))
  /\ ((forall T, 0 < T -> 0 < rate T)
      <-> p * (1 - p) * squares <= (1 - p) / count_on n correct + wrong_squares).
Proof.
  intros n logits correct two some not_all pi p q squares wrong_squares rate.
  pose proof (some_wrong n correct not_all) as wrong.
  pose proof (nonempty_inhabited n correct some) as inhabited.
  split; [|split; [|split; [|split]]].
  - intros T T_pos; apply Coquelicot.Derive.is_derive_Reals.
    pose proof (is_derive_reward n logits correct (unit_step n logits correct T) inhabited) as slope.
    replace (total_on n correct (softmax n (tempered T logits)) * rate T)
      with (covariance n (softmax n logits) (hit correct) (unit_step n logits correct T)); [exact slope|].
    unfold rate; rewrite (covariance_sym n (softmax n logits)), (covariance_sym n pi (only correct _)), <- covariance_scal_l.
    apply covariance_ext; intros a inside; [|reflexivity].
    destruct (correct a) eqn:right.
    + rewrite unit_step_right by assumption.
      rewrite (softmax_conditional n correct some (tempered T logits) a) by assumption.
      unfold pi; ring.
    + rewrite unit_step_wrong, conditional_out by assumption; unfold pi; ring.
  - intros T T'; exact (rate_does_not_increase n logits correct some wrong T T').
  - intros T; exact (rate_when_cold n logits correct some wrong T).
  - exact (reward_temperature n logits correct some wrong).
  - exact (rises_at_every_temperature n logits correct some wrong).
Qed.

Theorem proved : Statements.extension.reward_improvement_temperature.statement.
Proof.
  intros n logits correct temperature factor two some T_pos factor_large not_all.
  destruct (up_to_one_temperature n logits correct ltac:(lia) some not_all) as (slope & falls & cold & _).
  assert (forall T, 0 < T ->
            Statements.extension.reward_improvement_temperature.conditional n logits correct T
            = conditional n (tempered T logits) correct) as hot by (intros; apply shifted_conditional_eq; assumption).
  assert (Statements.extension.reward_improvement_temperature.conditional_without_temperature n logits correct
          = conditional n logits correct) as plain by (apply shifted_conditional_1_eq; assumption).
  assert (forall T, 0 < T -> Statements.extension.reward_improvement_temperature.sample_rate n logits correct T
            = sample_reward_rate n logits correct T) as same.
  { intros T positive; unfold Statements.extension.reward_improvement_temperature.sample_rate.
    rewrite hot by assumption; reflexivity. }
  assert (temperature <= temperature * factor) as hotter.
  { rewrite <- (Rmult_1_r temperature) at 1; apply Rmult_le_compat_l; lra. }
  assert (0 < Rmin temperature 1) as min_pos by (apply Rmin_glb_lt; lra).
  rewrite !same by (assumption || lra).
  split; [split|split].
  - rewrite plain, !hot by (assumption || lra).
    pose proof (overlap_falls n logits correct some temperature (temperature * factor) T_pos hotter) as fall.
    unfold overlap in fall.
    rewrite (total_on_ext n correct _
      (fun a => (conditional n logits correct a * conditional n (tempered temperature logits) correct a
                 - conditional n logits correct a
                   * conditional n (tempered (temperature * factor) logits) correct a)
                - smallest_on n correct (conditional n logits correct)
                  * (conditional n (tempered temperature logits) correct a
                     - conditional n (tempered (temperature * factor) logits) correct a)))
      by (intros; ring).
    rewrite !total_on_minus, total_on_scal, total_on_minus, !conditional_total by assumption; lra.
  - pose proof (cold (Rmin temperature 1) min_pos (Rmin_r _ _)) as least.
    pose proof (some_wrong n correct not_all) as wrong.
    refine (Rle_trans _ _ _ _ least).
    unfold Statements.extension.reward_improvement_temperature.sum_of_squares; rewrite plain.
    rewrite (sum_ext n _ (fun a => conditional n logits correct a * conditional n logits correct a))
      by (intros; ring).
    rewrite (sum_conditional n logits correct (conditional n logits correct)).
    unfold Statements.extension.reward_improvement_temperature.reward.
    change (fun a => negb (correct a)) with (complement correct).
    pose proof (masses_sum n logits correct some) as one.
    replace (total_on n (complement correct) (softmax n logits))
      with (1 - total_on n correct (softmax n logits)) by lra.
    pose proof (right_mass_pos n logits correct some).
    assert (0 <= total_on n correct (softmax n logits)
                 * total_on n (complement correct) (fun a => softmax n logits a * softmax n logits a)).
    { apply Rmult_le_pos; [lra|apply total_on_nonneg; intros; apply Rle_0_sqr]. }
    lra.
  - exact (slope temperature T_pos).
  - exact (falls temperature (temperature * factor) T_pos hotter).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.reward_improvement_temperature.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 2; witnessed. Qed.

Theorem defined : Statements.extension.reward_improvement_temperature.defined.
Proof. domains. Qed.
