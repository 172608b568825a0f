(** AEPO, Section 4.2, where tempered REINFORCE is a signal towards higher quality, as repaired: if some action
    is wrong, and T <= 1 or p m sum_A q^2 <= 1 (one right answer, equally likely ones, or p <= 1/m), then the
    reward p rises in the exact expected step, for every learning rate; and so do its log-odds. As printed, for
    every T, it is false: above T = 1 the likeliest right answers can lose more than the others gain. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Conditional Learning Reward
  StatementForms.
From Trusted.Statements.aepo Require reward_improvement.
Open Scope R_scope.

Theorem proved : Statements.aepo.reward_improvement.repair.
Proof.
  intros n logits correct temperature learning_rate two some T_pos rate_pos not_all either.
  pose proof (some_wrong n correct not_all) as wrong.
  assert (forall A, nonempty n A ->
            Statements.aepo.reward_improvement.conditional_without_temperature n logits A
            = conditional n logits A) as same by (intros; apply shifted_conditional_1_eq; assumption).
  assert (forall A f, nonempty n A -> Statements.aepo.reward_improvement.mean_growth n logits A f
            = total_on n A (fun a => conditional n logits A a * (exp (f a) - 1))) as growth.
  { intros A f some_A; unfold Statements.aepo.reward_improvement.mean_growth.
    rewrite same by assumption; apply (sum_conditional n logits A (fun a => exp (f a) - 1)). }
  assert (Statements.aepo.reward_improvement.sum_of_squares n logits correct = concentration n logits correct)
    as squares.
  { unfold Statements.aepo.reward_improvement.sum_of_squares; rewrite same by assumption.
    rewrite (sum_ext n _ (fun a => conditional n logits correct a * conditional n logits correct a))
      by (intros; ring).
    apply sum_conditional. }
  assert (total_on n correct (softmax n logits) * concentration n logits correct
          <= overlap n logits correct temperature) as keeps.
  { apply keeps_answers; [assumption|assumption|assumption|].
    rewrite squares in either; destruct (Rle_dec temperature 1) as [cold|hot]; [left; assumption|right].
    unfold Rmax in either; destruct (Rle_dec _ _) as [_|below] in either; [|lra].
    unfold Statements.aepo.reward_improvement.reward in either; unfold count_on; lra. }
  split.
  - rewrite !growth by assumption.
    pose proof (log_odds_rise n logits correct temperature learning_rate some wrong rate_pos keeps) as rise.
    change (fun a => negb (correct a)) with (complement correct).
    change (Statements.aepo.reward_improvement.unit_step n logits correct temperature)
      with (unit_step n logits correct temperature).
    lra.
  - exact (reward_rises n logits correct temperature learning_rate some wrong rate_pos keeps).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.reward_improvement.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 10, 1; witnessed. Qed.

Theorem defined : Statements.aepo.reward_improvement.defined.
Proof.
  assert (forall n z A f, nonempty n A -> 0 < 1 + Statements.aepo.reward_improvement.mean_growth n z A f) as grown.
  { intros n z A f some; unfold Statements.aepo.reward_improvement.mean_growth.
    replace (Statements.aepo.reward_improvement.conditional_without_temperature n z A) with (conditional n z A)
      by (symmetry; apply shifted_conditional_1_eq, some).
    rewrite (sum_conditional n z A (fun a => exp (f a) - 1)).
    rewrite (total_on_ext n A _ (fun a => conditional n z A a * exp (f a) - conditional n z A a)) by (intros; ring).
    rewrite total_on_minus, conditional_total by exact some.
    enough (0 < total_on n A (fun a => conditional n z A a * exp (f a))) by lra.
    apply total_on_pos; [exact some|]; intros; apply Rmult_lt_0_compat; [apply conditional_pos; assumption|apply exp_pos]. }
  domains; apply grown; [assumption|apply some_wrong; assumption].
Qed.
