(** AEnt, Lemma 3: the gradient of the entropy-regularized value of several prompts.

    Each of m prompts has its own tree and reward. The mean over prompts of V = E R + lambda H has, in
    the logit of token a at state s of prompt q, the derivative (1/m) d_q(s) pi(a|s) A(s, a), with
    A = Q - lambda log pi - V (A.16). *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.aent Require lemma_3.
Module Stated := Statements.aent.lemma_3.
Import ListNotations.
Open Scope R_scope.

Theorem gradient_of_regularized_value :
  forall (n h m : nat) (z : nat -> policy) (reward : nat -> state -> R) (coefficient : R)
         (prompt : nat) (s : state) (a : nat),
  (2 <= n)%nat -> (1 <= h)%nat -> (prompt < m)%nat -> state_of n h s -> (a < n)%nat ->
  derivative
    (fun x => sum m (fun q =>
       value_with_entropy n h (if Nat.eqb q prompt then set_logit (z q) s a x else z q)
         (reward q) coefficient) / INR m)
    (z prompt s a)
    (probability n (z prompt) s * (softmax n (z prompt s) a *
       advantage_at n h (z prompt)
         (edge_with_entropy n h (z prompt) (reward prompt) coefficient) s a) / INR m).
Proof.
  intros n h m z reward coefficient prompt s a several long prompt_inside inside a_inside.
  assert (0 < n)%nat as some by lia; apply is_derive_Reals.
  pose proof (is_derive_regularized_value_logit n h (z prompt) (reward prompt) coefficient s a
                some inside a_inside) as own.
  set (slope := probability n (z prompt) s * _) in *.
  apply (is_derive_scal_l (fun x => sum m (fun q => value_with_entropy n h
    (if Nat.eqb q prompt then set_logit (z q) s a x else z q) (reward q) coefficient))
    (z prompt s a) slope (/ INR m)).
  rewrite <- (sum_only_one m (fun _ => slope) prompt prompt_inside).
  apply (is_derive_sum m (fun x q => value_with_entropy n h
    (if Nat.eqb q prompt then set_logit (z q) s a x else z q) (reward q) coefficient)
    (fun q => if Nat.eqb q prompt then slope else 0)).
  intros q _; destruct (Nat.eqb_spec q prompt) as [->|_]; [exact own|apply @is_derive_const].
Qed.

Theorem proved : Statements.aent.lemma_3.statement.
Proof.
  unfold Stated.statement, Stated.response_gradient, Stated.gradient, Stated.regularized_value.
  intros n h prompts logits reward coefficient several long some_prompts.
  assert (0 < n)%nat as some by lia; split.
  - intros q q_inside s inside a a_inside; f_equal.
    rewrite reinforce_response_gradient.
    change (Stated.regularized_edge n h prompts logits reward coefficient q)
      with (edge_with_entropy n h (logits q) (reward q) coefficient).
    fold (advantage_at n h (logits q) (edge_with_entropy n h (logits q) (reward q) coefficient) s a).
    rewrite advantage_regularized, Rmult_assoc.
    rewrite (response_gradient_minus n h (logits q) (reward q)
      (fun y => sum_along (log_policy n (logits q)) y + 1) coefficient).
    rewrite response_gradient_advantage, response_gradient_sum_along by (assumption || apply inside).
    unfold advantage_at, action_value; rewrite !value_at_opp; ring.
  - intros w; apply is_derive_Reals.
    assert (is_derive (fun t => sum prompts (fun q =>
      value_with_entropy n h (moved (logits q) t (w q)) (reward q) coefficient)) 0
      (sum prompts (fun q => sum_states n h (fun s => sum n (fun a =>
         probability n (logits q) s * softmax n (logits q s) a
         * advantage_at n h (logits q) (edge_with_entropy n h (logits q) (reward q) coefficient) s a
         * w q s a))))) as total.
    { apply (is_derive_sum prompts (fun t q =>
        value_with_entropy n h (moved (logits q) t (w q)) (reward q) coefficient)).
      intros q _; apply is_derive_regularized_value_direction; [assumption|lia]. }
    evar_last; [apply (is_derive_scal_l _ _ _ (/ INR prompts) total)|].
    unfold scal; simpl; unfold mult; simpl; rewrite <- sum_scal_r; apply sum_ext; intros q _.
      rewrite Rmult_comm, <- sum_states_scal; apply sum_states_ext; intros s _.
      rewrite <- sum_scal; apply sum_ext; intros a _.
      change (Stated.regularized_edge n h prompts logits reward coefficient q)
        with (edge_with_entropy n h (logits q) (reward q) coefficient).
      unfold advantage_at; unfold Rdiv; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aent.lemma_3.witness.
Proof.
  exists 2%nat, 1%nat, 1%nat, (fun _ _ => (fun _ => 0)), (fun _ y => (fun a => match a with | 0%nat => 0
    | _ => 1 end) (List.hd 0%nat y)), 1; witnessed.
Qed.

Theorem defined : Statements.aent.lemma_3.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aent Require lemma_3.
From Trusted.Conditions.aent Require lemma_3.

Theorem gradient_of_regularized_value_witness : Conditions.aent.lemma_3.gradient_of_regularized_value_witness.
Proof. exists 2%nat, 1%nat, 1%nat, 0%nat, [], 0%nat; met. Qed.

Theorem gradient_of_regularized_value_defined : Conditions.aent.lemma_3.gradient_of_regularized_value_defined.
Proof. intros n h m prompt s a _ _ inside _ _; apply not_0_INR; lia. Qed.
