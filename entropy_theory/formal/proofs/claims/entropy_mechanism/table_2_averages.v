(** Entropy Mechanism, Table 2: one weighted mean fits all eight printed averages, within rounding. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.entropy_mechanism Require table_2_averages.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.table_2_averages.repair.
Proof. unfold Statements.entropy_mechanism.table_2_averages.repair; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.table_2_averages.witness.
Proof.
  exists 7%nat, (fun a => match a with | 0%nat => (106 / 5) | 1%nat => (48 / 5) | 2%nat => (587 / 10) |
    3%nat => (394 / 5) | 4%nat => (279 / 10) | 5%nat => (407 / 10) | _ => (367 / 10) end), (193 / 5),
    (fun _ => (1 / 20)), (1 / 20), (fun a => match a with | 0%nat => (2 / 25) | 1%nat => (3 / 25) |
    2%nat => (8 / 25) | 3%nat => (1 / 25) | 4%nat => (8 / 25) | 5%nat => (1 / 10) | _ => (1 / 50) end);
    witnessed.
Qed.
