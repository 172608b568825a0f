(* Generated from the counterexample of aepo.untempered-variance. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_untempered_variance.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_untempered_variance.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [false; true])
    2).
  refute claim 2%nat.
Qed.
