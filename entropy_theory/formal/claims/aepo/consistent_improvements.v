(** AEPO, Table 2: at pass@k AEPO is above GRPO on every benchmark. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.aepo Require consistent_improvements.
Open Scope R_scope.

Theorem proved : Statements.aepo.consistent_improvements.repair.
Proof.
  intros n ours theirs rounding chosen size rows is_chosen a inside; subst n.
  destruct a as [|a]; [clear inside; row_by_row|lia].
Qed.
