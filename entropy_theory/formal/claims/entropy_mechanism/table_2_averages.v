(** Entropy Mechanism, Table 2: one weighted mean fits all eight printed averages, within rounding. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.entropy_mechanism Require table_2_averages.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.table_2_averages.repair.
Proof. unfold Statements.entropy_mechanism.table_2_averages.repair; row_by_row. Qed.
