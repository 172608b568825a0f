(* Generated from the counterexample of entropy-mechanism.action-sequence-covariance. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require action_sequence_covariance.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.action_sequence_covariance.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    2%nat
    (at_states 2 [log_weights [1; 1]; log_weights [1; 1]; log_weights [1; 2]])
    (at_responses 2 [0; 0; 0; 1])).
  refute claim 2%nat.
Qed.
