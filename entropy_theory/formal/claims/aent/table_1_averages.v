(** AEnt, Table 1: AEnt's mean is above each baseline's in both settings, by more than rounding can hide. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.aent Require table_1_averages.
Open Scope R_scope.

Theorem proved : Statements.aent.table_1_averages.statement.
Proof. unfold Statements.aent.table_1_averages.statement; row_by_row. Qed.
