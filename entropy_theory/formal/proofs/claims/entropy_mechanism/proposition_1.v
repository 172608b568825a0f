(** Entropy Mechanism, Proposition 1, repaired: under the policy gradient the logit of token a at state s
    moves by eta d(s) pi(a|s) A(s, a), d(s) the probability that a response passes through s.

    The gradient of J = E[R] in that logit is d(s) pi(a|s) A(s, a), which is REINFORCE written out over
    responses; for one token d(s) = 1 and it is the printed step. As printed, without d(s), it is wrong
    wherever d(s) < 1 and there is something to learn, for example two tokens out of two, all
    probabilities even, where the second token alone is rewarded. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.entropy_mechanism Require proposition_1.
Module Stated := Statements.entropy_mechanism.proposition_1.
Import ListNotations.
Open Scope R_scope.

Theorem logit_step_of_policy_gradient :
  forall (n h : nat) (z : policy) (reward : state -> R) (s : state) (a : nat),
  (2 <= n)%nat -> state_of n h s -> (a < n)%nat ->
  derivative (fun x => mean_responses n h (set_logit z s a x) reward) (z s a)
    (probability n z s * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a)) /\
  gradient_over_responses n h z reward s a =
    probability n z s * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a) /\
  (h = 1%nat -> gradient_over_responses n h z reward s a =
    softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a).
Proof.
  intros n h z reward s a several inside a_inside; assert (0 < n)%nat as some by lia.
  destruct inside as [short below_n] eqn:inside_is; clear inside_is.
  repeat split.
  - apply is_derive_Reals, is_derive_expected_reward_logit; assumption.
  - apply response_gradient_advantage; assumption.
  - intros one; rewrite response_gradient_advantage by assumption.
    destruct s as [|b rest]; [simpl; ring|simpl in short; lia].
Qed.

Theorem proved : Statements.entropy_mechanism.proposition_1.repair.
Proof.
  unfold Stated.repair, Stated.policy_gradient, Stated.reward_through,
    Stated.gradient_formula, Stated.weighted_advantage,
    Stated.advantage.
  intros n h logits reward several long; assert (0 < n)%nat as some by lia; split.
  - intros s inside a a_inside; rewrite reinforce_response_gradient.
    rewrite response_gradient_advantage, advantage_centered by (assumption || apply inside); reflexivity.
  - intros w; apply is_derive_Reals; evar_last.
    + apply (is_derive_expected_reward_direction n h logits reward w some); lia.
    + apply sum_states_ext; intros s [short _]; apply sum_ext; intros a _.
      rewrite advantage_centered by assumption; reflexivity.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.proposition_1.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)); witnessed.
Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.entropy_mechanism Require proposition_1.
From Trusted.Conditions.entropy_mechanism Require proposition_1.

Theorem logit_step_of_policy_gradient_witness : Conditions.entropy_mechanism.proposition_1.logit_step_of_policy_gradient_witness.
Proof. exists 2%nat, 1%nat, [], 0%nat; met. Qed.
