(** AEPO, Table 3: over the four entropy targets the average rises once and then falls twice. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.aepo Require rise_then_fall.
Open Scope R_scope.

Theorem proved : Statements.aepo.rise_then_fall.statement.
Proof. unfold Statements.aepo.rise_then_fall.statement; row_by_row. Qed.
