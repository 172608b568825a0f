(** AEPO, Assumption 4.2, "assume that T > 1": the hypothesis is not used. Theorem 4.3's expansion holds, with the same
    remainder bound, at the temperatures that it excludes. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Curvature EntropyChange FirstOrder.
From Trusted.Statements.aepo Require assumption_4_2.
Open Scope R_scope.

Theorem expansion :
  forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
  (1 <= n)%nat -> 0 < temperature -> 0 < learning_rate ->
  0 <= 1 - temperature ->
  let step := fun a => learning_rate * unit_step n logits correct temperature a in
  0 <= remainder_bound n step
       - Rabs (entropy_change n logits step - 1 * (learning_rate * rate n logits correct temperature)).
Proof.
  intros n logits correct temperature learning_rate some positive learns cold step.
  assert (Rabs (entropy_change n logits step - learning_rate * rate n logits correct temperature)
          <= remainder_bound n step).
  { apply first_order_error_scaled; [lia|apply rate_of_step; lia]. }
  rewrite Rmult_1_l; lra.
Qed.

Theorem proved : Statements.aepo.assumption_4_2.statement.
Proof.
  intros n logits correct temperature learning_rate many some_correct positive cold learns.
  pose proof (expansion n logits correct temperature learning_rate ltac:(lia) positive learns ltac:(lra)) as bound.
  rewrite Rmult_1_l in bound; apply Rge_le, Rminus_ge, Rle_ge; exact bound.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.assumption_4_2.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, 1; witnessed. Qed.

Theorem defined : Statements.aepo.assumption_4_2.defined.
Proof. domains. Qed.
