(** AEPO, Section 7: a step on samples of a target q lowers KL(q || pi) at the rate |q - pi|^2. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
From Trusted.Statements.aepo Require target_distributions.
Open Scope R_scope.

Theorem proved : Statements.aepo.target_distributions.repair.
Proof.
  intros n logits target two.
  assert (0 < n)%nat as some by lia.
  set (p := softmax n logits); set (q := softmax n target).
  unfold mean at 1, centered.
  set (average := mean n p (fun b => q b - p b)).
  rewrite (sum_ext n _ (fun a => q a * (q a - p a) - average * q a)) by (intros; ring).
  rewrite sum_minus, sum_scal; unfold q at 3; rewrite softmax_sum by exact some.
  unfold average, mean; rewrite Rmult_1_r, <- sum_minus.
  apply sum_ext; intros; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aepo.target_distributions.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.
