(* Generated from the counterexample of aepo.tracking. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_tracking.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_tracking.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (marks [false; true])
    2
    (1 / 100)
    1).
  refute claim 2%nat.
Qed.
