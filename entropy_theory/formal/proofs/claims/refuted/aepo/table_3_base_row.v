(* Generated from the counterexample of aepo.table-3-base-row. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require table_3_base_row.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.table_3_base_row.refuted.
Proof.
  intros claim; specialize (claim 7%nat
    (entries [31 / 2; 781 / 100; 421 / 10; 327 / 5; 297 / 5; 11; 267 / 10])
    (1883 / 50)
    (entries [1 / 20; 1 / 200; 1 / 20; 1 / 20; 1 / 20; 1 / 20; 1 / 20])
    (1 / 200)).
  refute claim 7%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.table_3_base_row.defined.
Proof. domains. Qed.
