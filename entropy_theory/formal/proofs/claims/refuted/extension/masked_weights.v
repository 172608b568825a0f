(* Generated from the counterexample of extension.masked-weights. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require masked_weights.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.masked_weights.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 2])
    (entries [0; 0; 1])
    (9 / 10)
    2).
  refute claim 3%nat.
Qed.
