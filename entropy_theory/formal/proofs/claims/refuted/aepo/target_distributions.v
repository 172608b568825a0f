(* Generated from the counterexample of aepo.target-distributions. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require target_distributions.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.target_distributions.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 2])
    (entries [0; 1; 0])
    (entries [0; 1; 1])).
  refute claim 3%nat.
Qed.
