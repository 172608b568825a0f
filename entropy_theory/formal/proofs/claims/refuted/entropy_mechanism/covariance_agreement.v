(* Generated from the counterexample of entropy-mechanism.covariance-agreement. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require covariance_agreement.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.covariance_agreement.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 2; 4])
    (entries [0; 1; 1 / 2])).
  refute claim 3%nat.
Qed.
