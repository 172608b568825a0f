(** AEPO, Table 3: at each of the four entropy targets the average is above GRPO's. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.aepo Require all_entropy_levels.
Open Scope R_scope.

Theorem proved : Statements.aepo.all_entropy_levels.statement.
Proof. unfold Statements.aepo.all_entropy_levels.statement; row_by_row. Qed.
