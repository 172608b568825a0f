(* Generated from the counterexample of entropy-mechanism.table-2-averages. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require table_2_averages.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.table_2_averages.refuted.
Proof.
  intros claim; specialize (claim 7%nat
    (entries [106 / 5; 48 / 5; 587 / 10; 394 / 5; 279 / 10; 407 / 10; 367 / 10])
    (193 / 5)
    (entries [1 / 20; 1 / 20; 1 / 20; 1 / 20; 1 / 20; 1 / 20; 1 / 20])
    (1 / 20)).
  refute claim 7%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.entropy_mechanism.table_2_averages.defined.
Proof. domains. Qed.
