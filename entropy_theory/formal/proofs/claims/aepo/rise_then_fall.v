(** AEPO, Table 3: over the four entropy targets the average rises once and then falls twice. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.aepo Require rise_then_fall.
Open Scope R_scope.

Theorem proved : Statements.aepo.rise_then_fall.statement.
Proof. unfold Statements.aepo.rise_then_fall.statement; row_by_row. Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.rise_then_fall.witness.
Proof.
  exists 7%nat, (fun a => match a with | 0%nat => (379 / 10) | 1%nat => (113 / 10) | 2%nat => (372 / 5)
    | 3%nat => (447 / 5) | 4%nat => (399 / 5) | 5%nat => 36 | _ => (211 / 5) end), (fun a => match a
    with | 0%nat => (182 / 5) | 1%nat => (63 / 5) | 2%nat => (374 / 5) | 3%nat => (179 / 2) | 4%nat =>
    (413 / 5) | 5%nat => (191 / 5) | _ => 43 end), (fun a => match a with | 0%nat => (168 / 5) | 1%nat
    => (151 / 10) | 2%nat => 77 | 3%nat => (447 / 5) | 4%nat => (396 / 5) | 5%nat => (75 / 2) | _ =>
    (212 / 5) end), (fun a => match a with | 0%nat => (166 / 5) | 1%nat => (78 / 5) | 2%nat => (374 / 5)
    | 3%nat => (887 / 10) | 4%nat => (398 / 5) | 5%nat => (379 / 10) | _ => (421 / 10) end), (1 / 10);
    witnessed.
Qed.

Theorem defined : Statements.aepo.rise_then_fall.defined.
Proof. domains. Qed.
