(* Generated from the counterexample of aepo.table-1-superior. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require table_1_superior.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.table_1_superior.refuted.
Proof.
  intros claim; specialize (claim 7%nat
    (entries [35 / 2; 57 / 5; 693 / 10; 929 / 10; 78; 189 / 5; 201 / 5])
    (entries [171 / 10; 177 / 20; 337 / 5; 923 / 10; 384 / 5; 191 / 5; 391 / 10])
    (entries [1 / 10; 11 / 200; 1 / 10; 1 / 10; 1 / 10; 1 / 10; 1 / 10])).
  refute claim 7%nat.
Qed.
