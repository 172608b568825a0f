(** AEPO, Table 1, as corrected: with one average put right, the thirteen printed averages are the means of
    their rows, within rounding. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.aepo Require table_1_averages.
Open Scope R_scope.

Theorem proved : Statements.aepo.table_1_averages.repair.
Proof. unfold Statements.aepo.table_1_averages.repair; row_by_row. Qed.
