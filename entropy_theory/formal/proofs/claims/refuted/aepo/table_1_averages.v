(* Generated from the counterexample of aepo.table-1-averages. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require table_1_averages.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.table_1_averages.refuted.
Proof.
  intros claim; specialize (claim 7%nat
    (entries [321 / 10; 57 / 5; 721 / 10; 439 / 5; 394 / 5; 75 / 2; 421 / 10])
    (1294 / 25)
    (entries [1 / 20; 1 / 20; 1 / 20; 1 / 20; 1 / 20; 1 / 20; 1 / 20])
    (1 / 200)).
  refute claim 7%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.table_1_averages.defined.
Proof. domains. Qed.
