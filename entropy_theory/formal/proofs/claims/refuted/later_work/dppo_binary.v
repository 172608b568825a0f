(* Generated from the counterexample of later-work.dppo-binary. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require dppo_binary.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.dppo_binary.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [1; 1; 1; 1])
    (entries [0; 0; 1; 1])).
  refute claim 4%nat.
Qed.
