(* Generated from the counterexample of entropy-mechanism.covariance-positive-npg. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require entropy_mechanism_covariance_positive_npg.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism_covariance_positive_npg.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (entries [1; 0])).
  refute claim 2%nat.
Qed.
