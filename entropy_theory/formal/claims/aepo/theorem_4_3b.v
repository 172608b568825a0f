(** AEPO, Theorem 4.3, second part (Lemma B.5): where plain REINFORCE lowers entropy, F'(1) > 0. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce TemperedRate.
Open Scope R_scope.

(** The number that is positive is the derivative of F(T) at T = 1. *)
Theorem slope_at_one :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  derivative (rate n logits correct) 1 (untempered_scaled_slope n logits correct).
Proof.
  intros n logits correct some.
  replace (untempered_scaled_slope n logits correct) with (scaled_slope n logits correct 1 / (1 * 1))
    by (rewrite scaled_slope_1; field).
  apply derivative_rate; [lia|lra].
Qed.

Theorem proved :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  0 < - untempered_rate n logits correct ->
  0 < untempered_scaled_slope n logits correct.
Proof.
  intros n logits correct some falls.
  rewrite <- scaled_slope_1; apply scaled_slope_pos; [lia|lra|rewrite rate_1; lra].
Qed.
