(** Extension: an entropy held by the bonus on the entropy among right answers. The reward's rate while it is
    held has the sign of what the bonus adds to the entropy, and is zero only where all answers are right. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import HeldByDiversity.
From Trusted.Statements.extension Require level_set_diverse_bonus.
Open Scope R_scope.

Theorem proved : Statements.extension.level_set_diverse_bonus.statement.
Proof.
  intros n z A two members.
  change (Statements.extension.level_set_diverse_bonus.held_gain n z A) with (held_gain n z A).
  change (Statements.extension.level_set_diverse_bonus.entropy_of_bonus n z A) with (entropy_of_bonus n z A).
  assert (moves : forall x, 0 < x * x -> x <> 0) by (intros x positive ->; lra).
  split; [exact (held_gain_nonneg n z A members)|split; [|split]].
  - intros able; exact (entropy_is_held n z A members (moves _ able)).
  - intros able; exact (reward_rate_held n z A members (moves _ able)).
  - intros [raises still]; apply (held_gain_zero n z A members); [lra|].
    apply Rmult_eq_reg_r with (/ entropy_of_bonus n z A); [|apply Rinv_neq_0_compat; lra].
    rewrite Rmult_0_l; exact still.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.level_set_diverse_bonus.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

(** Where every answer is right, the bonus is the gradient of entropy. *)
Lemma bonus_raises : 0 < Statements.extension.level_set_diverse_bonus.entropy_of_bonus 2 one_to_two (fun _ => true).
Proof.
  unfold Statements.extension.level_set_diverse_bonus.entropy_of_bonus; simpl sum.
  rewrite !entropy_gradient_eq by lia; numbers.
Qed.

Theorem witness_1 : Statements.extension.level_set_diverse_bonus.witness_1.
Proof.
  exists 2%nat, one_to_two, (fun _ => true); do 2 (split; [witnessed|]).
  apply Rmult_lt_0_compat; apply bonus_raises.
Qed.

Theorem witness_2 : Statements.extension.level_set_diverse_bonus.witness_2.
Proof. exact witness_1. Qed.

Theorem witness_3 : Statements.extension.level_set_diverse_bonus.witness_3.
Proof.
  exists 2%nat, one_to_two, (fun _ => true); do 2 (split; [witnessed|]); split; [apply bonus_raises|].
  replace (Statements.extension.level_set_diverse_bonus.held_gain _ _ _) with 0; [unfold Rdiv; ring|].
  unfold Statements.extension.level_set_diverse_bonus.held_gain.
  replace (Statements.extension.level_set_diverse_bonus.learning _ _ _) with 0 by numbers.
  replace (Statements.extension.level_set_diverse_bonus.reward_of_bonus _ _ _) with 0 by numbers; ring.
Qed.

Theorem defined : Statements.extension.level_set_diverse_bonus.defined.
Proof.
  domains; intros none; rewrite none in *; lra.
Qed.
