(** Entropy Mechanism, Table 2: KL-Cov is above GRPO on every benchmark. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions PrintedTables.
From Statements.entropy_mechanism Require consistently_outperforms.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.consistently_outperforms.repair.
Proof.
  intros n ours theirs rounding chosen size rows is_chosen a inside; subst n.
  do 7 (destruct a as [|a]; [clear inside; row_by_row|]); lia.
Qed.
