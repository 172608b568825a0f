(* Generated from the counterexample of aepo.ablation-2. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require ablation_2.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.ablation_2.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [true; false])
    1
    1).
  refute claim 2%nat.
Qed.
