(** Extension: an entropy held by the bonus on the entropy among right answers, with a coefficient for each
    prompt: at neither prompt does the reward fall where the bonus raises the entropy. *)

From Coq Require Import Reals.
From PolicyEntropy.library Require Import Definitions HeldByDiversity.
From Statements.extension Require level_set_one_coefficient.
Open Scope R_scope.

Theorem proved : Statements.extension.level_set_one_coefficient.repair.
Proof.
  intros n z A other two members.
  split; [exact (held_gain_nonneg n z A members)|exact (held_gain_nonneg n other A members)].
Qed.
