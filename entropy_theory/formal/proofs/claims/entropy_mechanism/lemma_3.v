(** Entropy Mechanism, Lemma 3: the advantage has mean zero under the policy.

    V(s) = E[R | s] and Q(s, a) = E[R | s, a] are sums over the responses that pass through s, and
    through s and a, of probability times reward, divided by the probabilities of passing. The recursion
    from the last token to the root computes the same numbers. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.entropy_mechanism Require lemma_3.
Module Stated := Statements.entropy_mechanism.lemma_3.
Import ListNotations.
Open Scope R_scope.

Theorem advantage_has_mean_zero :
  forall (n h : nat) (z : policy) (reward : state -> R) (s : state),
  (2 <= n)%nat -> state_of n h s ->
  let V := sum_through n h z reward s / probability n z s in
  let Q a := sum_through n h z reward (s ++ [a]) / (probability n z s * softmax n (z s) a) in
  mean n (softmax n (z s)) (fun a => Q a - V) = 0 /\
  V = sum n (fun a => sum_through n h z reward (s ++ [a])) / probability n z s /\
  (forall a, (a < n)%nat -> Q a - V = advantage_at n h z (edge_reward h reward) s a).
Proof.
  intros n h z reward s several [short _] V Q; assert (0 < n)%nat as some by lia.
  pose proof (probability_pos n z s some) as visited.
  assert (V = value_at n h z (edge_reward h reward) s) as value_of_state.
  { unfold V; rewrite sum_through_value by assumption; field; lra. }
  assert (forall a, Q a = action_value n h z (edge_reward h reward) s a) as value_of_action.
  { intros a; pose proof (softmax_pos n (z s) a some).
    unfold Q; rewrite sum_through_action_value by assumption; field; lra. }
  repeat split.
  - rewrite <- (mean_advantage n h z (edge_reward h reward) s some short); apply mean_ext; intros a _.
    rewrite value_of_action, value_of_state; reflexivity.
  - rewrite value_of_state, sum_through_children by assumption; field; lra.
  - intros a _; rewrite value_of_action, value_of_state; reflexivity.
Qed.

Theorem proved : Statements.entropy_mechanism.lemma_3.statement.
Proof.
  unfold Stated.statement, Stated.reward_through; intros n h logits reward several long s inside.
  assert (0 < n)%nat as some by lia; pose proof (probability_pos n logits s some).
  rewrite <- (mean_advantage n h logits (edge_reward h reward) s some (proj1 inside)).
  apply mean_ext; intros a _; pose proof (softmax_pos n (logits s) a some).
  rewrite total_through_reward, total_through_children by (assumption || apply inside).
  unfold advantage_at; field; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.lemma_3.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)); witnessed.
Qed.

Theorem defined : Statements.entropy_mechanism.lemma_3.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.entropy_mechanism Require lemma_3.
From Trusted.Conditions.entropy_mechanism Require lemma_3.

Theorem advantage_has_mean_zero_witness : Conditions.entropy_mechanism.lemma_3.advantage_has_mean_zero_witness.
Proof. exists 2%nat, 1%nat, []; repeat (split; [met|]); exists 0%nat; met. Qed.

Theorem advantage_has_mean_zero_defined : Conditions.entropy_mechanism.lemma_3.advantage_has_mean_zero_defined.
Proof. domains. Qed.
