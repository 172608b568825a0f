(* Generated from the counterexample of later-work.repo-rescaled. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require repo_rescaled.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.repo_rescaled.refuted.
Proof.
  intros claim; specialize (claim 5%nat
    (log_weights [1; 1; 1; 1; 2])
    (marks [false; false; false; false; true])).
  refute claim 5%nat.
Qed.
