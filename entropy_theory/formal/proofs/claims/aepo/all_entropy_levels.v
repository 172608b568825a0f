(** AEPO, Table 3: at each of the four entropy targets the average is above GRPO's. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.aepo Require all_entropy_levels.
Open Scope R_scope.

Theorem proved : Statements.aepo.all_entropy_levels.statement.
Proof. unfold Statements.aepo.all_entropy_levels.statement; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.all_entropy_levels.witness.
Proof.
  exists 7%nat, (fun a => match a with | 0%nat => (379 / 10) | 1%nat => (113 / 10) | 2%nat => (372 / 5)
    | 3%nat => (447 / 5) | 4%nat => (399 / 5) | 5%nat => 36 | _ => (211 / 5) end), (fun a => match a
    with | 0%nat => (321 / 10) | 1%nat => 11 | 2%nat => (362 / 5) | 3%nat => (887 / 10) | 4%nat => (403
    / 5) | 5%nat => (173 / 5) | _ => (209 / 5) end), (fun _ => (1 / 10)); witnessed.
Qed.

Theorem defined : Statements.aepo.all_entropy_levels.defined.
Proof. domains. Qed.
