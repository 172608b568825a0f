(* Generated from the counterexample of extension.momentum. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require momentum.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.momentum.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 5])
    (entries [0; 2; 1])
    1
    (1 / 2)).
  refute claim 3%nat.
Qed.
