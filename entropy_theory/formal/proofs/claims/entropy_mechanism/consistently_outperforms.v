(** Entropy Mechanism, Table 2: KL-Cov is above GRPO on every benchmark. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import PrintedTables.
From Trusted.Statements.entropy_mechanism Require consistently_outperforms.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.consistently_outperforms.repair.
Proof.
  intros n ours theirs rounding chosen size rows is_chosen a inside; subst n.
  do 7 (destruct a as [|a]; [clear inside; row_by_row|]); lia.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.consistently_outperforms.witness.
Proof.
  exists 7%nat, (fun a => match a with | 0%nat => (113 / 5) | 1%nat => (129 / 10) | 2%nat => (307 / 5) |
    3%nat => (404 / 5) | 4%nat => (291 / 10) | 5%nat => (213 / 5) | _ => (191 / 5) end), (fun a => match
    a with | 0%nat => (106 / 5) | 1%nat => (48 / 5) | 2%nat => (587 / 10) | 3%nat => (394 / 5) | 4%nat
    => (279 / 10) | 5%nat => (407 / 10) | _ => (367 / 10) end), (fun _ => (1 / 10)), 1; witnessed.
Qed.
