(** Entropy Mechanism, Table 2: with the weights that fit its averages, KL-Cov leads with both models. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.entropy_mechanism Require table_2_order.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.table_2_order.repair.
Proof. unfold Statements.entropy_mechanism.table_2_order.repair; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.table_2_order.witness.
Proof.
  exists 7%nat, (fun a => match a with | 0%nat => (221 / 10) | 1%nat => (79 / 5) | 2%nat => (291 / 5) |
    3%nat => (402 / 5) | 4%nat => (61 / 2) | 5%nat => (441 / 10) | _ => (411 / 10) end), (fun a => match
    a with | 0%nat => (113 / 5) | 1%nat => (129 / 10) | 2%nat => (307 / 5) | 3%nat => (404 / 5) | 4%nat
    => (291 / 10) | 5%nat => (213 / 5) | _ => (191 / 5) end), (fun a => match a with | 0%nat => (2 / 25)
    | 1%nat => (3 / 25) | 2%nat => (8 / 25) | 3%nat => (1 / 25) | 4%nat => (8 / 25) | 5%nat => (1 / 10)
    | _ => (1 / 50) end); witnessed.
Qed.
