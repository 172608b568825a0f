(** AEPO, Table 1: ahead of every other row on at least six of the seven benchmarks, and on average. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import CountedColumns.
From Trusted.Statements.aepo Require table_1_superior.
Open Scope R_scope.

Theorem proved : Statements.aepo.table_1_superior.repair.
Proof. unfold Statements.aepo.table_1_superior.repair; count_columns. Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.table_1_superior.witness.
Proof.
  exists 7%nat, (fun a => match a with | 0%nat => (35 / 2) | 1%nat => (57 / 5) | 2%nat => (693 / 10) |
    3%nat => (929 / 10) | 4%nat => 78 | 5%nat => (189 / 5) | _ => (201 / 5) end), (fun a => match a with
    | 0%nat => (171 / 10) | 1%nat => (177 / 20) | 2%nat => (337 / 5) | 3%nat => (923 / 10) | 4%nat =>
    (384 / 5) | 5%nat => (191 / 5) | _ => (391 / 10) end), (fun a => match a with | 0%nat => (1 / 10) |
    1%nat => (11 / 200) | 2%nat => (1 / 10) | 3%nat => (1 / 10) | 4%nat => (1 / 10) | 5%nat => (1 / 10)
    | _ => (1 / 10) end); witnessed.
Qed.

Theorem defined : Statements.aepo.table_1_superior.defined.
Proof. domains. Qed.
