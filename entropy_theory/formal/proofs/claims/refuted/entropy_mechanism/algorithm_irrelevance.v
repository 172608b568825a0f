(* Generated from the counterexample of entropy-mechanism.algorithm-irrelevance. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require algorithm_irrelevance.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.algorithm_irrelevance.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 2])
    (marks [false; true; false])
    1).
  refute claim 3%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.entropy_mechanism.algorithm_irrelevance.defined.
Proof. domains. Qed.
