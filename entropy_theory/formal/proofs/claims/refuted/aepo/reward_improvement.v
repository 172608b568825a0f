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
