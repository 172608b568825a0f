(* Generated from the counterexample of aent.adaptive-coefficient. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aent Require adaptive_coefficient.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aent.adaptive_coefficient.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (marks [false; true])
    (1 / 4)
    (1 / 2)
    (1 / 16)
    (1 / 8)
    (1 / 8)).
  refute claim 2%nat.
Qed.
