(** Entropy Mechanism, Table 2: with the weights that fit its averages, KL-Cov leads with both models. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.entropy_mechanism Require table_2_order.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.table_2_order.repair.
Proof. unfold Statements.entropy_mechanism.table_2_order.repair; row_by_row. Qed.
