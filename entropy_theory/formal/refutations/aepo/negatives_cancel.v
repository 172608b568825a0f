(* Generated from the counterexample of aepo.negatives-cancel. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_negatives_cancel.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_negatives_cancel.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [false; true])
    2).
  refute claim 2%nat.
Qed.
