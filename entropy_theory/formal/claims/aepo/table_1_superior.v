(** AEPO, Table 1: ahead of every other row on at least six of the seven benchmarks, and on average. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions CountedColumns.
From Statements.aepo Require table_1_superior.
Open Scope R_scope.

Theorem proved : Statements.aepo.table_1_superior.repair.
Proof. unfold Statements.aepo.table_1_superior.repair; count_columns. Qed.
