(* Generated from the counterexample of later-work.entrocraft. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require later_work_entrocraft.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work_entrocraft.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [false; true])).
  refute claim 2%nat.
Qed.
