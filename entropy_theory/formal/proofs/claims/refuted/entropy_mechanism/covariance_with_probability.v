(* Generated from the counterexample of entropy-mechanism.covariance-with-probability. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require covariance_with_probability.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.covariance_with_probability.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [1; 1; 2; 3])
    (entries [0; 0; 1; 0])).
  refute claim 4%nat.
Qed.
