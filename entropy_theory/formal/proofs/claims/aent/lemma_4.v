(** AEnt, Lemma 4: the performance difference of two policies, with entropy.

    V'(s) - V(s) is the sum over the states u behind s, weighted with the visits of the second policy
    from s on, of E'[Q(u, a) - lambda log pi'(a|u)] - V(u), with Q and V those of the first policy. At
    the root V is the expected reward plus lambda times the entropy of responses. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.aent Require lemma_4.
Module Stated := Statements.aent.lemma_4.
Import ListNotations.
Open Scope R_scope.

Theorem performance_difference_with_entropy :
  forall (n h : nat) (z z' : policy) (reward : state -> R) (coefficient : R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let edge := edge_with_entropy n h z reward coefficient in
  let edge' := edge_with_entropy n h z' reward coefficient in
  let gain u :=
    mean n (softmax n (z' u)) (fun a =>
      edge_reward h reward u a + value_at n h z edge (u ++ [a])
      - coefficient * log_softmax n (z' u) a) - value_at n h z edge u in
  value_with_entropy n h z' reward coefficient - value_with_entropy n h z reward coefficient =
    sum_states n h (fun u => probability n z' u * gain u) /\
  forall s, value_at n h z' edge' s - value_at n h z edge s =
    sum_states n (h - length s) (fun u => probability n (below s z') u * gain (s ++ u)).
Proof.
  intros n h z z' reward coefficient several long edge edge' gain; assert (0 < n)%nat as some by lia.
  assert (forall s, value_at n h z' edge' s - value_at n h z edge s =
    sum_states n (h - length s) (fun u => probability n (below s z') u * gain (s ++ u))) as from_any_state.
  - intros s; rewrite !(value_at_below n h), performance_difference by assumption.
    apply sum_states_ext; intros u _; f_equal; unfold gain.
    rewrite (value_at_app n h z edge s u); f_equal; apply mean_ext; intros a _.
    rewrite <- app_assoc, (value_at_app n h z edge s (u ++ [a])).
    change (below s edge' u a) with
      (edge_reward h reward (s ++ u) a - coefficient * log_softmax n (z' (s ++ u)) a). ring.
  - split; [|exact from_any_state].
    specialize (from_any_state []); simpl in from_any_state; rewrite Nat.sub_0_r in from_any_state.
    rewrite <- !value_regularized_edge by assumption; exact from_any_state.
Qed.

Theorem proved : Statements.aent.lemma_4.statement.
Proof.
  unfold Stated.statement, Stated.regularized_value.
  intros n h logits reward step coefficient several long.
  destruct (performance_difference_with_entropy n h logits (fun s a => logits s a + step s a) reward
              coefficient several long) as [at_root _].
  unfold value_with_entropy at 1 2 in at_root; rewrite at_root.
  apply sum_states_ext; intros s _; f_equal.
  change (Stated.regularized_edge n h logits reward coefficient)
    with (edge_with_entropy n h logits reward coefficient).
  f_equal; apply mean_ext; intros a _; unfold action_value at 1, edge_with_entropy at 2, log_policy; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aent.lemma_4.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0 end)), 1; witnessed.
Qed.
