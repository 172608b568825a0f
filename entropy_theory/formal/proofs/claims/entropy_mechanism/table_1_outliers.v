(** Entropy Mechanism, Table 1: the outliers have at least 500 times the mean covariance, within rounding. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.entropy_mechanism Require table_1_outliers.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.table_1_outliers.statement.
Proof. unfold Statements.entropy_mechanism.table_1_outliers.statement; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.table_1_outliers.witness.
Proof. exists (2827 / 500), (3 / 1000); witnessed. Qed.
