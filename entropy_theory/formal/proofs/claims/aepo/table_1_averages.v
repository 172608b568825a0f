(** AEPO, Table 1, as corrected: with one average put right, the thirteen printed averages are the means of
    their rows, within rounding. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.aepo Require table_1_averages.
Open Scope R_scope.

Theorem proved : Statements.aepo.table_1_averages.repair.
Proof. unfold Statements.aepo.table_1_averages.repair; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.table_1_averages.witness.
Proof.
  exists 7%nat, 1, (fun a => match a with | 0%nat => (791 / 100) | 1%nat => (531 / 100) | 2%nat => (181
    / 5) | 3%nat => (177 / 2) | 4%nat => (322 / 5) | 5%nat => 22 | _ => (293 / 10) end), (906 / 25),
    (fun a => match a with | 0%nat => (1 / 200) | 1%nat => (1 / 200) | 2%nat => (1 / 20) | 3%nat => (1 /
    20) | 4%nat => (1 / 20) | 5%nat => (1 / 20) | _ => (1 / 20) end), (1 / 200); witnessed.
Qed.

Theorem defined : Statements.aepo.table_1_averages.defined.
Proof. domains. Qed.
