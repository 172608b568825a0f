(** AEnt, Table 1: five strict wins of six in each setting. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions CountedColumns.
From Statements.aent Require table_1_wins.
Open Scope R_scope.

Theorem proved : Statements.aent.table_1_wins.statement.
Proof. unfold Statements.aent.table_1_wins.statement; count_columns. Qed.
