(* Generated from the counterexample of aepo.maxent-objective. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require maxent_objective.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.maxent_objective.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    2%nat
    (at_states 2 [log_weights [1; 1]; log_weights [1; 1]; log_weights [1; 1]])).
  refute claim 2%nat.
Qed.
