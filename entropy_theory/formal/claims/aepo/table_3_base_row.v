(** AEPO, Table 3, as corrected: with the base model's average put right, the seven printed averages are
    the means of their rows, within rounding. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.aepo Require table_3_base_row.
Open Scope R_scope.

Theorem proved : Statements.aepo.table_3_base_row.repair.
Proof. unfold Statements.aepo.table_3_base_row.repair; row_by_row. Qed.
