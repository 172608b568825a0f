(* Generated from the counterexample of entropy-mechanism.performance-after-collapse. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require performance_after_collapse.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.performance_after_collapse.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 100000; 100000])
    (entries [1; 1 / 2; 0])
    12
    28).
  refute claim 3%nat.
Qed.
