(** AEnt, Table 1: AEnt's mean is above each baseline's in both settings, by more than rounding can hide. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.aent Require table_1_averages.
Open Scope R_scope.

Theorem proved : Statements.aent.table_1_averages.statement.
Proof. unfold Statements.aent.table_1_averages.statement; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aent.table_1_averages.witness.
Proof.
  exists 6%nat, (fun a => match a with | 0%nat => 552 | 1%nat => 750 | 2%nat => 217 | 3%nat => 330 |
    4%nat => 377 | _ => 581 end), (fun a => match a with | 0%nat => 368 | 1%nat => 584 | 2%nat => 83 |
    3%nat => 179 | 4%nat => 279 | _ => 406 end); witnessed.
Qed.
