(** AEPO, Table 2: at pass@k AEPO is above GRPO on every benchmark. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.aepo Require consistent_improvements.
Open Scope R_scope.

Theorem proved : Statements.aepo.consistent_improvements.repair.
Proof.
  intros n ours theirs rounding chosen size rows is_chosen a inside; subst n.
  destruct a as [|a]; [clear inside; row_by_row|lia].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aepo.consistent_improvements.witness.
Proof. exists 1%nat, (fun _ => 70), (fun _ => (633 / 10)), (fun _ => (1 / 10)), 1; witnessed. Qed.
