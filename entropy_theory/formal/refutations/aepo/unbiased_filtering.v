(* Generated from the counterexample of aepo.unbiased-filtering. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_unbiased_filtering.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_unbiased_filtering.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [true; true])
    2).
  refute claim 2%nat.
Qed.
