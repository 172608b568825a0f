(* Generated from the counterexample of aent.squeezes-unsampled. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aent Require squeezes_unsampled.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aent.squeezes_unsampled.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 3])
    (1 / 4)).
  refute claim 3%nat.
Qed.
