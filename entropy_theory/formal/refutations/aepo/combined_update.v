(* Generated from the counterexample of aepo.combined-update. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_combined_update.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_combined_update.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [false; true])
    3).
  refute claim 2%nat.
Qed.
