(** AEPO, Table 3, as corrected: with the base model's average put right, the seven printed averages are
    the means of their rows, within rounding. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.aepo Require table_3_base_row.
Open Scope R_scope.

Theorem proved : Statements.aepo.table_3_base_row.repair.
Proof. unfold Statements.aepo.table_3_base_row.repair; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.table_3_base_row.witness.
Proof.
  exists 7%nat, 1, (fun a => match a with | 0%nat => (31 / 2) | 1%nat => (781 / 100) | 2%nat => (421 /
    10) | 3%nat => (327 / 5) | 4%nat => (297 / 5) | 5%nat => 11 | _ => (267 / 10) end), (1883 / 50),
    (fun a => match a with | 0%nat => (1 / 20) | 1%nat => (1 / 200) | 2%nat => (1 / 20) | 3%nat => (1 /
    20) | 4%nat => (1 / 20) | 5%nat => (1 / 20) | _ => (1 / 20) end), (1 / 200); witnessed.
Qed.

Theorem defined : Statements.aepo.table_3_base_row.defined.
Proof. domains. Qed.
