(** Which entropies AEPO can sustain at one state, in exact expected steps. None above log m: along every run,
    the switch's among them, each entropy is below the ceiling of the start, and limsup H <= log m. Below log m,
    on the solved face, the rate has the sign of H_target - H under the switch between 5/4 and 4/5; with two
    right answers the log-odds stay within max(|D - D_target|, eta/8) of the target's, and the entropy within
    a quarter of that. An extension of AEPO's Section 4.2. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Masks Groups Learning
  LearningLimits Conditional TwoAnswers OwnCovariance.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat -> nonempty n correct -> ~ everything n correct ->
  (* nothing above log m *)
  (forall (learning_rate alpha low : R) (temperature grpo_weight : nat -> R),
     0 < learning_rate -> 0 < alpha -> 0 < low ->
     (forall k, low <= temperature k) -> (forall k, 0 <= grpo_weight k) ->
     let path := aepo_run n correct learning_rate alpha temperature grpo_weight logits in
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

Theorem proved : statement.
Proof.
  intros n logits correct two_actions some not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  split; [|split].
  - intros learning_rate alpha low temperature grpo_weight rate_pos alpha_pos low_pos range weights path.
    split.
    + intros k.
      apply (run_below_ceiling n correct learning_rate alpha temperature grpo_weight logits some wrong
               rate_pos alpha_pos weights 0 k); lia.
    + exact (limsup_entropy n correct learning_rate alpha low temperature grpo_weight logits
               some wrong rate_pos alpha_pos low_pos range weights).
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
