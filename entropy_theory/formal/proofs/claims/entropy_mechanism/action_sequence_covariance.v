(** Entropy Mechanism, "Empirical verification", repaired: what the covariance over actions is over
    responses.

    For every direction x of the token logits, sum_s d(s) Cov_s(log pi - H(sa), x) equals
    Cov_y(log pi(y), sum_t (x_t - E x_t)); the policy gradient's direction is x = d(s) pi(a|s) A(s, a).
    For one token both are the covariance over actions. The printed equality, of Cov_s(log pi, pi A) and
    Cov_y(log pi(y), pi(y) A(y)), fails for two tokens out of two, even but behind the second one (1 : 2),
    which alone is rewarded: every covariance over actions is zero, that over responses is positive. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.entropy_mechanism Require action_sequence_covariance.
Module Stated := Statements.entropy_mechanism.action_sequence_covariance.
Import ListNotations.
Open Scope R_scope.

Theorem covariance_of_actions_as_of_responses :
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let sides x :=
    sum_states n h (fun s => probability n z s *
      covariance n (softmax n (z s)) (fun a => log_softmax n (z s) a - entropy_to_come n h z s a) (x s))
    = covariance_responses n h z (sum_along (log_policy n z)) (sum_along (centered_policy n z x)) in
  sides (gradient_of_value n h z reward) /\ forall x, sides x.
Proof.
  intros n h z reward several long sides; assert (0 < n)%nat as some by lia.
  assert (forall x, sides x) as every
    by (intros x; symmetry; apply covariance_log_policy_states, some).
  split; [apply every|exact every].
Qed.

Theorem proved : Statements.entropy_mechanism.action_sequence_covariance.repair.
Proof.
  unfold Stated.repair, Stated.action_covariance, Stated.response_covariance, Stated.summed.
  intros n h logits reward several long; assert (0 < n)%nat as some by lia.
  set (x := Stated.gradient_formula n h logits reward).
  transitivity (covariance_responses n h logits (sum_along (log_policy n logits))
                  (sum_along (centered_policy n logits x))); [|reflexivity].
  rewrite covariance_log_policy_states by assumption; apply sum_states_ext; intros s _; f_equal.
  apply covariance_ext; [|reflexivity]; intros a _.
  unfold Stated.entropy_to_go, action_value,
    entropy_to_come, log_policy; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.action_sequence_covariance.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)); witnessed.
Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.entropy_mechanism Require action_sequence_covariance.
From Trusted.Conditions.entropy_mechanism Require action_sequence_covariance.

Theorem covariance_of_actions_as_of_responses_witness : Conditions.entropy_mechanism.action_sequence_covariance.covariance_of_actions_as_of_responses_witness.
Proof. exists 2%nat, 1%nat; met. Qed.
