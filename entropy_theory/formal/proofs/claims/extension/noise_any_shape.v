(** Extension of Entropy Mechanism, Lemma 1: bounds on the second order of entropy for noise of every shape. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Curvature Noise.
From Trusted.Statements.extension Require noise_any_shape.
Open Scope R_scope.

Theorem proved : Statements.extension.noise_any_shape.statement.
Proof.
  intros n logits step two; split.
  - exact (form_above n logits step two).
  - exact (form_below n logits step two).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.noise_any_shape.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.
