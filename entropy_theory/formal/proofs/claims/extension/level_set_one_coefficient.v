(** Extension: an entropy held by the bonus on the entropy among right answers, with a coefficient for each
    prompt: at neither prompt does the reward fall where the bonus raises the entropy. *)

From Coq Require Import Reals.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import HeldByDiversity.
From Trusted.Statements.extension Require level_set_one_coefficient.
Open Scope R_scope.

Theorem proved : Statements.extension.level_set_one_coefficient.repair.
Proof.
  intros n z A other two members.
  split; [exact (held_gain_nonneg n z A members)|exact (held_gain_nonneg n other A members)].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.level_set_one_coefficient.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), (fun _ => 0); witnessed. Qed.

Theorem defined : Statements.extension.level_set_one_coefficient.defined.
Proof. domains. Qed.
