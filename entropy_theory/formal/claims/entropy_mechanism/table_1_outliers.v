(** Entropy Mechanism, Table 1: the outliers have at least 500 times the mean covariance, within rounding. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.entropy_mechanism Require table_1_outliers.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.table_1_outliers.statement.
Proof. unfold Statements.entropy_mechanism.table_1_outliers.statement; row_by_row. Qed.
