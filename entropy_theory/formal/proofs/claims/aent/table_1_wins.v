(** AEnt, Table 1: five strict wins of six in each setting. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import CountedColumns.
From Trusted.Statements.aent Require table_1_wins.
Open Scope R_scope.

Theorem proved : Statements.aent.table_1_wins.statement.
Proof. unfold Statements.aent.table_1_wins.statement; count_columns. Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aent.table_1_wins.witness.
Proof.
  exists 6%nat, (fun a => match a with | 0%nat => 368 | 1%nat => 584 | 2%nat => 83 | 3%nat => 179 |
    4%nat => 279 | _ => 406 end), (fun a => match a with | 0%nat => 524 | 1%nat => 756 | 2%nat => 192 |
    3%nat => 311 | 4%nat => 364 | _ => 550 end), (fun a => match a with | 0%nat => 546 | 1%nat => 752 |
    2%nat => 167 | 3%nat => 316 | 4%nat => 370 | _ => 562 end), (fun a => match a with | 0%nat => 552 |
    1%nat => 750 | 2%nat => 217 | 3%nat => 330 | 4%nat => 377 | _ => 581 end); witnessed.
Qed.
