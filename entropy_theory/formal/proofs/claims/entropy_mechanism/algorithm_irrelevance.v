(** Entropy Mechanism, "the coefficients are algorithm-irrelevant", as repaired: from a start that is
    symmetric among the right and among the wrong answers, the policy gradient and the natural policy
    gradient have the same entropy when they have the same performance. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Groups SymmetricPolicies.
From Trusted.Statements.entropy_mechanism Require algorithm_irrelevance.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.algorithm_irrelevance.repair.
Proof.
  unfold Statements.entropy_mechanism.algorithm_irrelevance.repair.
  intros n logits correct learning_rate at_least_two some _ not_all.
  assert (0 < n)%nat as n_positive by lia.
  pose proof (some_wrong n correct not_all) as wrong.
  set (start := Statements.entropy_mechanism.algorithm_irrelevance.two_logits n logits correct).
  assert (alike n correct start) as start_alike.
  { intros a b _ _ kind; unfold start, Statements.entropy_mechanism.algorithm_irrelevance.two_logits.
    rewrite kind; reflexivity. }
  set (target := fun a => start a + learning_rate
    * Statements.entropy_mechanism.algorithm_irrelevance.gradient_step n start correct a).
  assert (alike n correct target) as target_alike.
  { intros a b a_inside b_inside kind.
    unfold target, Statements.entropy_mechanism.algorithm_irrelevance.gradient_step.
    rewrite (start_alike a b), (alike_softmax n correct start start_alike a b), kind by assumption.
    reflexivity. }
  unfold Statements.entropy_mechanism.algorithm_irrelevance.performance,
    Statements.entropy_mechanism.algorithm_irrelevance.failure.
  change (fun a => negb (correct a)) with (complement correct).
  change (fun b => start b + learning_rate
    * Statements.entropy_mechanism.algorithm_irrelevance.gradient_step n start correct b) with target.
  set (R' := total_on n correct (softmax n target)).
  set (Q' := total_on n (complement correct) (softmax n target)).
  set (R0 := total_on n correct (softmax n start)).
  set (Q0 := total_on n (complement correct) (softmax n start)).
  set (t := ln R' - ln Q' - (ln R0 - ln Q0)).
  set (natural := fun a => start a + (if correct a then t else 0)).
  assert (alike n correct natural) as natural_alike.
  { intros a b a_inside b_inside kind; unfold natural.
    rewrite (start_alike a b), kind by assumption; reflexivity. }
  assert (0 < R' /\ 0 < Q' /\ 0 < R0 /\ 0 < Q0) as (R'_pos & Q'_pos & R0_pos & Q0_pos).
  { repeat split; [apply right_mass_pos|apply wrong_mass_pos|apply right_mass_pos|apply wrong_mass_pos];
      assumption. }
  set (R1 := total_on n correct (softmax n natural)).
  set (Q1 := total_on n (complement correct) (softmax n natural)).
  assert (R1 * Q0 = exp t * R0 * Q1) as odds by (apply (odds_shifted n correct start t n_positive)).
  assert (exp t = R' / Q' / (R0 / Q0)) as factor.
  { unfold t; rewrite <- !ln_div by assumption.
    rewrite <- ln_div by (apply Rdiv_lt_0_compat; assumption).
    apply exp_ln; repeat apply Rdiv_lt_0_compat; assumption. }
  assert (R1 + Q1 = 1) as one by (apply (masses_sum n natural correct some)).
  assert (R' + Q' = 1) as one' by (apply (masses_sum n target correct some)).
  assert (R1 * Q' = R' * Q1) as same_odds.
  { rewrite factor in odds; apply Rmult_eq_reg_r with (Q0 / Q'); [|].
    - replace (R1 * Q' * (Q0 / Q')) with (R1 * Q0) by (field; lra).
      rewrite odds; field; repeat split; lra.
    - apply Rgt_not_eq, Rdiv_lt_0_compat; assumption. }
  assert (R1 = R') as same_R.
  { replace Q1 with (1 - R1) in same_odds by lra; replace Q' with (1 - R') in same_odds by lra; lra. }
  assert (Q1 = Q') as same_Q by lra.
  rewrite (entropy_alike n natural correct some wrong natural_alike).
  rewrite (entropy_alike n target correct some wrong target_alike).
  fold R1 Q1 R' Q'; rewrite same_R, same_Q; reflexivity.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.algorithm_irrelevance.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1; witnessed. Qed.

Theorem defined : Statements.entropy_mechanism.algorithm_irrelevance.defined.
Proof. domains. Qed.
