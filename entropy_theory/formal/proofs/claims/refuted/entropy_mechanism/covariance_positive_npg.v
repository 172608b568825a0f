(* Generated from the counterexample of entropy-mechanism.covariance-positive-npg. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require covariance_positive_npg.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.covariance_positive_npg.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (entries [1; 0])).
  refute claim 2%nat.
Qed.
