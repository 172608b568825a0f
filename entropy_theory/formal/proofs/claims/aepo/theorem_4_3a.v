(** AEPO, Theorem 4.3, first part (Lemma B.5): one expected step of tempered REINFORCE changes entropy by
    eta F(T), up to (1/4)(1 + log n) ||dz||^2, whatever the temperature and the learning rate. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Curvature EntropyChange FirstOrder.
From Trusted.Statements.aepo Require theorem_4_3a.
Open Scope R_scope.

(** F(T) is the derivative of entropy in the learning rate. *)
Theorem slope :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat ->
  derivative (fun eta => entropy n (fun a => logits a + eta * unit_step n logits correct temperature a)) 0
    (rate n logits correct temperature).
Proof.
  intros n logits correct temperature some; apply is_derive_Reals.
  replace (rate n logits correct temperature)
    with (- covariance n (softmax n logits) (log_softmax n logits) (unit_step n logits correct temperature))
    by (rewrite rate_of_step by lia; ring).
  rewrite <- slope_line_start.
  apply (is_derive_entropy_along_line n logits (unit_step n logits correct temperature)); lia.
Qed.

Theorem proved : Statements.aepo.theorem_4_3a.statement.
Proof.
  intros n logits correct temperature learning_rate many _ _ _; split; [|apply slope; lia].
  apply first_order_error_scaled; [lia|apply rate_of_step; lia].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.theorem_4_3a.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1; witnessed. Qed.

Theorem defined : Statements.aepo.theorem_4_3a.defined.
Proof. domains. Qed.
