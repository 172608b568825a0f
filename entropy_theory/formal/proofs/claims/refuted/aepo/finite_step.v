(* Generated from the counterexample of aepo.finite-step. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require finite_step.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.finite_step.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 2])
    (marks [false; true; true])
    8
    20).
  refute claim 3%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.finite_step.defined.
Proof. domains. Qed.
