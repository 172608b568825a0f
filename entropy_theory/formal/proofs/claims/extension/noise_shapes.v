(** Extension of Entropy Mechanism, Lemma 1: what the noise of SGD, of Adam and of independent logits does to entropy,
    to second order. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Noise NoiseShapes.
From Trusted.Statements.extension Require noise_shapes.
Open Scope R_scope.

Theorem proved : Statements.extension.noise_shapes.statement.
Proof.
  intros n z two; split; [|split].
  - exact (effect_isotropic n z two).
  - exact (effect_score n z two).
  - exact (effect_adam n z two).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.noise_shapes.witness.
Proof. exists 2%nat, (fun _ => 0); witnessed. Qed.

Theorem defined : Statements.extension.noise_shapes.defined.
Proof.
  intros n z two; split.
  - intros a a_inside b b_inside.
    pose proof (root_pos n z two a a_inside); pose proof (root_pos n z two b b_inside).
    repeat split; [| |apply Rgt_not_eq, Rmult_lt_0_compat; assumption];
      (apply Rmult_le_pos; [apply Rlt_le, softmax_pos; lia|apply Rlt_le, (others_pos n z two); assumption]).
  - intros a inside; pose proof (others_pos n z two a inside) as positive; split.
    + apply Rgt_not_eq; exact positive.
    + apply Rlt_le, Rdiv_lt_0_compat; [apply softmax_pos; lia|exact positive].
Qed.
