(** AEPO, Theorem 4.3, second part (Lemma B.5): where plain REINFORCE lowers entropy, F'(1) > 0. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce TemperedRate.
From Trusted.Statements.aepo Require theorem_4_3b.
Open Scope R_scope.

(** The number that is positive is the derivative of F(T) at T = 1. *)
Theorem slope_at_one :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  derivative (rate n logits correct) 1 (untempered_scaled_slope n logits correct).
Proof.
  intros; apply derivative_rate_at_one; lia.
Qed.

Theorem slope_is_positive :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  0 < - untempered_rate n logits correct ->
  0 < untempered_scaled_slope n logits correct.
Proof.
  intros n logits correct some falls.
  rewrite <- scaled_slope_1; apply scaled_slope_pos; [lia|lra|rewrite rate_1; lra].
Qed.

Theorem proved : Statements.aepo.theorem_4_3b.statement.
Proof.
  intros n logits correct many some_correct falls; split.
  - apply slope_is_positive; [lia|exact falls].
  - apply slope_at_one; lia.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.theorem_4_3b.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => Nat.eqb a 1); witnessed.
Qed.

Theorem defined : Statements.aepo.theorem_4_3b.defined.
Proof. domains. Qed.
