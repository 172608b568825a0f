(* Generated from the counterexample of extension.dppo-mask. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require dppo_mask.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.dppo_mask.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [2; 2; 4; 5])
    (entries [- 1; - 1; - 1; 1])
    (1 / 5)).
  refute claim 4%nat.
Qed.
