(* Generated from the counterexample of entropy-mechanism.performance-law. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require performance_law.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.performance_law.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (marks [false; true])
    1).
  refute claim 2%nat.
Qed.
