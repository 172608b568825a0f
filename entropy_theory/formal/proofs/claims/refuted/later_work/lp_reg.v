(* Generated from the counterexample of later-work.lp-reg. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require lp_reg.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.lp_reg.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 3])
    (marks [true; false])
    (1 / 2)
    1).
  refute claim 2%nat.
Qed.
