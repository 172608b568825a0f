(** Extension: the natural policy gradient flow of token logits tilts whole responses.

    If every token logit moves as the advantage (up to a constant at each state, which softmax does not
    see), a response y has at time t the probability pi_0(y) e^{t R(y)} / E_0[e^{t R}], however long the
    responses are. Such a flow exists from every policy: z(s, a) + log E_0[e^{t R} | s, a]. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeTilting TreeSets.
From Statements.extension Require natural_flow_tilts.
Module Stated := Statements.extension.natural_flow_tilts.
Import ListNotations.
Open Scope R_scope.

(** The statement's flow is the library's. *)
Lemma flow_stated n h reward path :
  (forall t : R, 0 <= t -> forall s, state_of n h s -> forall a, (a < n)%nat ->
     derivative (fun r => path r s a) t (Stated.advantage n h (path t) reward s a)) ->
  natural_flow n h reward path.
Proof.
  intros follows; exists (fun _ _ => 0); intros t s a later inside a_inside.
  apply is_derive_Reals; rewrite Rplus_0_r, advantage_centered by apply inside.
  apply follows; assumption.
Qed.

Lemma flowed_moves n h z reward elapsed s a :
  (0 < n)%nat -> (0 < h)%nat -> 0 < elapsed -> state_of n h s -> (a < n)%nat ->
  derivative (fun t => Stated.flowed n h z reward t s a) elapsed
    (Stated.advantage n h (Stated.flowed n h z reward elapsed) reward s a
     + Stated.state_values n h (Stated.flowed n h z reward elapsed) reward s).
Proof.
  intros some long positive inside a_inside.
  destruct (natural_flow_exists n some h z reward long) as [_ _].
  change (Stated.flowed n h z reward) with (fun t => tilted_policy n h z (fun y => exp (t * reward y))).
  unfold Stated.advantage, Stated.state_values.
  assert (forall y, response_of n h y -> 0 < exp (elapsed * reward y)) as weights by (intros; apply exp_pos).
  pose proof (action_value_edge_reward_pos n some h z _ s a inside a_inside weights) as chosen.
  apply is_derive_Reals; evar_last.
  - apply @is_derive_plus; [apply @is_derive_const|].
    apply (is_derive_comp ln); [apply is_derive_ln, chosen|apply is_derive_action_value_tilt; assumption].
  - rewrite <- advantage_centered by apply inside; unfold advantage.
    rewrite action_value_tilted by assumption.
    unfold plus, zero, scal; simpl; unfold mult; simpl; field; lra.
Qed.

Theorem flow_tilts_responses :
  forall (n h : nat) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let flow (path : R -> policy) := exists shift : R -> state -> R,
    forall t s a, 0 <= t -> state_of n h s -> (a < n)%nat ->
    derivative (fun r => path r s a) t
      (advantage n h (path t) (edge_reward h reward) s a + shift t s) in
  (forall path, flow path -> forall t y, 0 <= t -> response_of n h y ->
     probability n (path t) y =
     probability n (path 0) y * exp (t * reward y)
     / mean_responses n h (path 0) (fun x => exp (t * reward x))) /\
  (forall z, exists path, flow path /\
     forall s a, state_of n h s -> (a < n)%nat -> path 0 s a = z s a).
Proof.
  intros n h reward several long flow; assert (0 < n)%nat as some by lia.
  assert (forall path, flow path <-> natural_flow n h reward path) as same.
  { intros path; split; intros [shift moves]; exists shift; intros;
      apply is_derive_Reals, moves; assumption. }
  split.
  - intros path moves t y later response.
    apply natural_flow_tilts; [assumption|assumption|apply same, moves|assumption|assumption].
  - intros z; destruct (natural_flow_exists n some h z reward long) as [moves start].
    eexists; split; [apply same, moves|exact start].
Qed.

Theorem proved : Statements.extension.natural_flow_tilts.statement.
Proof.
  unfold Stated.statement; intros n h logits reward elapsed several long positive.
  assert (0 < n)%nat as some by lia; split; [|split].
  - intros y response; unfold Stated.flowed, Stated.tilted_probabilities.
    apply (probability_tilted n some h logits (fun x => exp (elapsed * reward x)) y);
      [lia|assumption|intros; apply exp_pos].
  - intros s inside a a_inside; apply flowed_moves; try assumption; lia.
  - intros path follows y response; unfold Stated.tilted_probabilities.
    apply (natural_flow_tilts n some h reward path elapsed y); try lia; try lra; try assumption.
    apply flow_stated, follows.
Qed.
