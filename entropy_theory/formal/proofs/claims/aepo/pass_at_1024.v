(** AEPO, Table 2: at pass@1024 AEPO is not below the base model, and GRPO is. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.aepo Require pass_at_1024.
Open Scope R_scope.

Theorem proved : Statements.aepo.pass_at_1024.repair.
Proof. unfold Statements.aepo.pass_at_1024.repair; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aepo.pass_at_1024.witness.
Proof. exists 25, 24, 22; witnessed. Qed.
