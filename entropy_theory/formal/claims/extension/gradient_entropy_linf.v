(** Entropy bounds the largest entry of the policy gradient: ||grad V||_inf <= H/(4 log 2) on every
    token tree with returns in [0, 1], and no smaller constant will do (extension of AEnt, Proposition
    1 (I)). *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues
  TreeGradientBounds.
Import ListNotations.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n horizon : nat) (logits : policy) (reward : state -> R),
    (1 <= n)%nat ->
    (forall y, length y = horizon -> 0 <= reward y <= 1) ->
    forall s a, state_of n horizon s -> (a < n)%nat ->
    4 * ln 2 * Rabs
      (gradient_formula n horizon logits reward s a)
    <= response_entropy n horizon logits.

Theorem proved : statement.
Proof.
  unfold statement; intros n horizon logits reward some range s a state inside.
  apply (gradient_linf_le_entropy n horizon logits reward); [assumption| |assumption|assumption].
  intros y [long _]; apply range, long.
Qed.

(** Equality at pi = (1/2, 1/2) and returns (1, 0). *)
Theorem attained :
  4 * ln 2 * Rabs (gradient_formula 2 1 even_policy first_is_right [] 0%nat)
  = response_entropy 2 1 even_policy.
Proof. rewrite even_entropy, even_gradient, Rabs_pos_eq by (lia || lra); field. Qed.

(** The same of the partial derivatives of the expected return. *)
Theorem of_the_gradient n horizon logits reward gradient :
  (1 <= n)%nat -> (forall y, length y = horizon -> 0 <= reward y <= 1) ->
  is_gradient n horizon logits reward gradient ->
  forall s a, state_of n horizon s -> (a < n)%nat ->
  4 * ln 2 * Rabs (gradient s a) <= response_entropy n horizon logits.
Proof.
  intros some range slopes s a state inside.
  rewrite (gradient_is_formula n horizon logits reward gradient slopes) by assumption.
  apply proved; assumption.
Qed.
