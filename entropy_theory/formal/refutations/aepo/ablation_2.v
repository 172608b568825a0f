(* Generated from the counterexample of aepo.ablation-2. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_ablation_2.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_ablation_2.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [true; false])
    1
    1).
  refute claim 2%nat.
Qed.
