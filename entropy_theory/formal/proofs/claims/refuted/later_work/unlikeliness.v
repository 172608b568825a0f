(* Generated from the counterexample of later-work.unlikeliness. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require unlikeliness.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.unlikeliness.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (entries [1; - 1; 0])
    (marks [false; false; true])).
  refute claim 3%nat.
Qed.
