(* Generated from the counterexample of aepo.reward-improvement. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require reward_improvement.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.reward_improvement.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 7])
    (marks [false; true; true])
    10
    1).
  refute claim 3%nat.
Qed.

From Coq Require Import Lra Lia.
From PolicyEntropy.library Require Import Basics Masks Conditional StatementForms Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.reward_improvement.defined.
Proof.
  assert (forall n z A f, nonempty n A ->
            0 < 1 + Statements.refuted.aepo.reward_improvement.mean_growth n z A f) as grown.
  { intros n z A f some; unfold Statements.refuted.aepo.reward_improvement.mean_growth.
    replace (Statements.refuted.aepo.reward_improvement.conditional_without_temperature n z A)
      with (conditional n z A) by (symmetry; apply shifted_conditional_1_eq, some).
    rewrite (sum_conditional n z A (fun a => exp (f a) - 1)).
    rewrite (total_on_ext n A _ (fun a => conditional n z A a * exp (f a) - conditional n z A a)) by (intros; ring).
    rewrite total_on_minus, conditional_total by exact some.
    enough (0 < total_on n A (fun a => conditional n z A a * exp (f a))) by lra.
    apply total_on_pos; [exact some|]; intros; apply Rmult_lt_0_compat; [apply conditional_pos; assumption|apply exp_pos]. }
  domains; apply grown; [assumption|apply some_wrong; assumption].
Qed.
