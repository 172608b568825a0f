(* Generated from the counterexample of entropy-mechanism.table-2-order. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require table_2_order.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.table_2_order.refuted.
Proof.
  intros claim; specialize (claim 7%nat
    (entries [221 / 10; 79 / 5; 291 / 5; 402 / 5; 61 / 2; 441 / 10; 411 / 10])
    (entries [113 / 5; 129 / 10; 307 / 5; 404 / 5; 291 / 10; 213 / 5; 191 / 5])).
  refute claim 7%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.entropy_mechanism.table_2_order.defined.
Proof. domains. Qed.
