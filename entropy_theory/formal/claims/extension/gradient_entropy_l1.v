(** Entropy bounds the l1 norm of the policy gradient: ||grad V||_1 <= H/(2 log 2) on every token tree
    with returns in [0, 1], and no smaller constant will do (extension of AEnt, Proposition 1 (I)). *)

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
    2 * ln 2 * sum_states n horizon (fun s => sum n (fun a => Rabs
      (gradient_formula n horizon logits reward s a)))
    <= response_entropy n horizon logits.

Theorem proved : statement.
Proof.
  unfold statement; intros n horizon logits reward some range.
  apply (gradient_l1_le_entropy n horizon logits reward); [assumption|].
  intros y [long _]; apply range, long.
Qed.

(** Equality at pi = (1/2, 1/2) and returns (1, 0). *)
Theorem attained :
  2 * ln 2 * sum_states 2 1 (fun s => sum 2 (fun a =>
    Rabs (gradient_formula 2 1 even_policy first_is_right s a)))
  = response_entropy 2 1 even_policy.
Proof.
  rewrite even_entropy; unfold sum_states; cbn [sum sum_responses].
  rewrite !even_gradient, Rabs_Ropp, Rabs_pos_eq by (lia || lra); field.
Qed.

(** The same of the partial derivatives of the expected return. *)
Theorem of_the_gradient n horizon logits reward gradient :
  (1 <= n)%nat -> (forall y, length y = horizon -> 0 <= reward y <= 1) ->
  is_gradient n horizon logits reward gradient ->
  2 * ln 2 * sum_states n horizon (fun s => sum n (fun a => Rabs (gradient s a)))
  <= response_entropy n horizon logits.
Proof.
  intros some range slopes.
  rewrite (sum_states_ext n horizon _ (fun s => sum n (fun a =>
    Rabs (gradient_formula n horizon logits reward s a)))); [apply proved; assumption|].
  intros s state; apply sum_ext; intros a inside; f_equal.
  apply gradient_is_formula; assumption.
Qed.
