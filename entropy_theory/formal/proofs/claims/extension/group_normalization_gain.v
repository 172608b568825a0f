(** Extension of AEPO, section 3.1 (GRPO's advantage): the expected GRPO step is kappa(p) times the gradient
    of the success probability p. A group has G independent responses, rewards 1 on the correct set and 0 off
    it, and advantages (reward - mean)/deviation within the group (0 where all rewards are equal), the squared
    deviation divided by G - ddof. For every policy, correct set, group of two or more and ddof < G, exactly. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics GroupGain.
From Trusted.Statements.extension Require group_normalization_gain.
Open Scope R_scope.

Theorem proved : Statements.extension.group_normalization_gain.statement.
Proof.
  intros n logits correct two some_right.
  assert (same : forall G ddof a, (ddof < G)%nat -> (a < n)%nat ->
    expected_group_step n G ddof logits correct a
    = group_gain G ddof (total_on n correct (softmax n logits))
        (total_on n (complement correct) (softmax n logits)) * success_gradient n logits correct a)
    by (intros; apply expected_group_step_is_gradient; lia).
  split; [|split; [|split]].
  - repeat split; intros a inside; apply same; (exact inside || lia).
  - intros G several a inside; apply (INR_le 2) in several; apply same; (exact inside || lia).
  - intros G several a inside; apply (INR_le 2) in several; apply same; (exact inside || lia).
  - intros direction; apply success_gradient_is_gradient; lia.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.group_normalization_gain.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem witness_1 : Statements.extension.group_normalization_gain.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); do 2 (split; [witnessed|]); exists 2%nat; witnessed. Qed.

Theorem witness_2 : Statements.extension.group_normalization_gain.witness_2.
Proof. exact witness_1. Qed.

Theorem defined : Statements.extension.group_normalization_gain.defined.
Proof. domains. Qed.
