(** Which entropies AEPO can sustain at one state, in exact expected steps. None above log m: along every run,
    the switch's among them, each entropy is below the ceiling of the start, and limsup H <= log m. Below log m,
    on the solved face, the rate has the sign of H_target - H under the switch between 5/4 and 4/5; with two
    right answers the log-odds stay within max(|D - D_target|, eta/8) of the target's, and the entropy within
    a quarter of that. An extension of AEPO's Section 4.2. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Learning
  LearningLimits Conditional RightAnswers TwoAnswers OwnCovariance StatementForms.
From Trusted.Statements.extension Require sustainable_entropies.
Open Scope R_scope.

Theorem above_and_below :
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat -> nonempty n correct -> ~ everything n correct ->
  (* nothing above log m *)
  (forall (learning_rate alpha low : R) (temperature grpo_weight : nat -> R),
     0 < learning_rate -> 0 < alpha -> 0 < low ->
     (forall k, low <= temperature k) -> (forall k, 0 <= grpo_weight k) ->
     let path := aepo_run n correct (fun _ => learning_rate) alpha temperature grpo_weight logits in
     (forall k, entropy n (path k) <= ceiling n logits correct)
     /\ limsup_at_most (fun k => entropy n (path k)) (ln (count_on n correct)))
  (* from both sides towards a target below *)
  /\ (forall target : R,
        let lack := target - conditional_entropy n logits correct in
        let push := lack * conditional_rate n logits correct (switch_temperature (less 0 lack)) in
        0 <= push /\ (lack <> 0 -> ~ uniform_on n correct logits -> 0 < push))
  (* held, with two answers that are both right *)
  /\ (forall (two : vector) (target_gap learning_rate : R),
        0 <= target_gap -> 0 < learning_rate <= 2 ->
        let target := two_answer_entropy target_gap in
        let temperature := switch_temperature (less (entropy 2 two) target) in
        let after := moved learning_rate two (unit_step 2 two (fun _ => true) temperature) in
        let apart (z : vector) := Rabs (z 0%nat - z 1%nat) in
        let most := Rmax (Rabs (apart two - target_gap)) (learning_rate / 8) in
        Rabs (apart after - target_gap) <= most /\ 4 * Rabs (entropy 2 after - target) <= most).

Proof.
  intros n logits correct two_actions some not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  split; [|split].
  - intros learning_rate alpha low temperature grpo_weight rate_pos alpha_pos low_pos range weights path.
    pose proof (constant_reach_diverges learning_rate alpha grpo_weight rate_pos alpha_pos weights) as endless.
    pose proof (fun k : nat => Rlt_le _ _ rate_pos) as nonneg.
    split.
    + intros k; apply (run_below_ceiling n correct (fun _ => learning_rate)) with (i := 0%nat); assumption || lia.
    + apply limsup_entropy with (low := low); assumption.
  - intros target lack push.
    assert (lack <> 0 -> ~ uniform_on n correct logits -> 0 < push) as strict.
    { intros nonzero uneven; unfold push, switch_temperature.
      destruct (less 0 lack) eqn:side.
      - apply less_true in side; apply Rmult_lt_0_compat; [assumption|].
        apply rate_positive_when_hot; [assumption|lra|assumption].
      - apply less_false in side.
        assert (conditional_rate n logits correct (4 / 5) < 0)
          by (apply rate_negative_when_cold; [assumption|lra|lra|assumption]).
        rewrite <- Rmult_opp_opp; apply Rmult_lt_0_compat; lra. }
    split; [|exact strict].
    destruct (Req_dec lack 0) as [zero|nonzero]; [unfold push; rewrite zero; lra|].
    destruct (Classical_Prop.classic (uniform_on n correct logits)) as [even|uneven].
    + unfold push; rewrite rate_zero_when_uniform by assumption; lra.
    + apply Rlt_le, strict; assumption.
  - intros two target_gap learning_rate gap_nonneg (rate_pos & small).
    exact (proj2 (two_answers_held two target_gap learning_rate gap_nonneg ltac:(lra) small)).
Qed.

Theorem proved : Statements.extension.sustainable_entropies.statement.
Proof.
  intros n logits correct target_gap learning_rate grpo_weight two some gap_pos rate_pos rate_small weight_pos
    not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  destruct (above_and_below n logits correct two some not_all) as (above & below & _).
  assert (forall y target, gap n logits correct <= gap n y correct ->
            gap n logits correct
            <= gap n (Statements.extension.sustainable_entropies.after_switched_step n y correct target grpo_weight
                        learning_rate) correct) as grows.
  { intros y target grown.
    change (gap n logits correct
            <= gap n (after_aepo_step n y correct
                        (switch_temperature (less (entropy n y) target)) grpo_weight learning_rate) correct).
    rewrite after_aepo_step_eq; refine (Rle_trans _ _ _ grown _).
    apply gap_never_falls; assumption || lra. }
  assert (forall y, gap n logits correct <= gap n y correct -> entropy n y <= ceiling n logits correct) as bounded
    by (intros; apply entropy_at_most_ceiling; assumption).
  assert (forall low : bool, 0 < switch_temperature low) as positive by (intros []; simpl; lra).
  assert (forall target, Statements.extension.sustainable_entropies.lack n logits correct target
          = target - conditional_entropy n logits correct) as lack_eq.
  { intros target; unfold Statements.extension.sustainable_entropies.lack.
    rewrite <- (conditional_entropy_form n logits correct some); reflexivity. }
  assert (forall target, Statements.extension.sustainable_entropies.push n logits correct target
          = (target - conditional_entropy n logits correct)
            * conditional_rate n logits correct
                (switch_temperature (less 0 (target - conditional_entropy n logits correct)))) as push_eq.
  { intros target; unfold Statements.extension.sustainable_entropies.push; rewrite lack_eq.
    rewrite <- conditional_rate_form by (assumption || apply positive); reflexivity. }
  assert (forall target, 0 <= Statements.extension.sustainable_entropies.push n logits correct target)
    as push_nonneg by (intros target; rewrite push_eq; apply below).
  set (D := largest n logits - smallest n logits).
  assert (0 <= D) as D_nonneg.
  { pose proof (largest_ge n logits 0 ltac:(lia)); pose proof (smallest_le n logits 0 ltac:(lia)); unfold D; lra. }
  assert (Statements.extension.sustainable_entropies.moved_gap D target_gap learning_rate
          = D - learning_rate * speed D (switch_temperature (less (two_answer_entropy D)
                                                                  (two_answer_entropy target_gap)))) as moved_eq.
  { rewrite <- speed_form by apply positive; reflexivity. }
  change (Statements.extension.sustainable_entropies.logit_range n logits) with D.
  rewrite moved_eq.
  split; [|split].
  - repeat split; try (apply bounded; repeat apply grows; apply Rle_refl).
    + apply push_nonneg.
    + apply held_in_gap; lra.
    + apply held_in_entropy; lra.
  - intros target; split; [apply push_nonneg|].
    intros (nonzero & wide); rewrite push_eq; rewrite lack_eq in nonzero; apply below.
    + intros same; rewrite same in nonzero; lra.
    + intros even; unfold Statements.extension.sustainable_entropies.range_on in wide.
      destruct (largest_on_attained n correct logits some) as (a & a_inside & a_in & a_is).
      destruct (smallest_on_attained n correct logits some) as (b & b_inside & b_in & b_is).
      rewrite a_is, b_is, (even a b) in wide by assumption; lra.
  - intros lowest lowest_pos temperatures range weights nonneg.
    pose proof (above learning_rate 1 lowest temperatures weights rate_pos Rlt_0_1 lowest_pos range nonneg) as limit.
    rewrite <- aepo_run_eq in limit; exact limit.
Qed.

From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.sustainable_entropies.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, 1, 1; witnessed. Qed.

Theorem witness_1 : Statements.extension.sustainable_entropies.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, 1, 1; limits_witnessed. Qed.

Theorem defined : Statements.extension.sustainable_entropies.defined.
Proof.
  domains.
  match goal with H : exp _ < Statements.extension.sustainable_entropies.count ?n _ ?A / INR ?n |- _ =>
    pose proof (count_on_at_most n A) as most; change (count_on n A <= INR n) in most;
    assert (0 < INR n) as actions by (apply lt_0_INR; lia);
    apply Rlt_div_r in H; [|exact actions];
    change (Statements.extension.sustainable_entropies.count n _ A) with (count_on n A) in H end.
  enough (exp (Statements.extension.sustainable_entropies.log_wrong_bound n logits correct) < 1) by lra.
  nra.
Qed.
