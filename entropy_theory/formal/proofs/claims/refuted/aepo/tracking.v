(* Generated from the counterexample of aepo.tracking. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require tracking.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.tracking.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (marks [false; true])
    2
    (1 / 100)
    1).
  refute claim 2%nat.
Qed.
