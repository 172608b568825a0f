(** Extension of the Entropy Mechanism, Theorem 1: under the policy gradient of token logits the entropy
    of responses moves by -Cov_y(log pi(y), sum_t (x_t - E x_t)), x_t = d(s_t) pi(a_t|s_t) A(s_t, a_t).

    The step is the gradient of E R, logit by logit, and REINFORCE written out over responses. *)

From Coq Require Import Reals Lra Lia List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.extension Require sequence_covariance_pg.
Module Stated := Statements.extension.sequence_covariance_pg.
Import ListNotations.
Open Scope R_scope.

Theorem entropy_under_policy_gradient :
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let step := gradient_of_value n h z reward in
  (forall s a, state_of n h s -> (a < n)%nat ->
     derivative (fun x => mean_responses n h (set_logit z s a x) reward) (z s a) (step s a) /\
     gradient_over_responses n h z reward s a = step s a) /\
  derivative (fun t => response_entropy n h (moved z t (gradient_over_responses n h z reward))) 0
    (- covariance_responses n h z (fun y => ln (probability n z y))
         (sum_along (centered_policy n z step))).
Proof.
  intros n h z reward several long step; assert (0 < n)%nat as some by lia; split.
  - intros s a inside a_inside; split.
    + apply is_derive_Reals, is_derive_expected_reward_logit; assumption.
    + apply response_gradient_advantage; [assumption|apply inside].
  - apply is_derive_Reals; evar_last.
    + apply (is_derive_response_entropy n h
               (fun t => moved z t (gradient_over_responses n h z reward)) step 0 some).
      intros s a [short _] _; unfold step, gradient_of_value.
      rewrite <- response_gradient_advantage by assumption; apply is_derive_moved.
    + rewrite moved_0; f_equal; apply covariance_responses_ext; intros y _.
      * symmetry; apply ln_probability, some.
      * reflexivity.
Qed.

Theorem proved : Statements.extension.sequence_covariance_pg.statement.
Proof.
  unfold Stated.statement, Stated.entropy_rate, Stated.response_covariance, Stated.summed.
  intros n h logits reward several long; assert (0 < n)%nat as some by lia.
  set (step := gradient_over_responses n h logits reward).
  assert (Stated.policy_gradient n h logits reward = step) as gradient.
  { unfold Stated.policy_gradient, Stated.reward_through.
    apply functional_extensionality; intros s; apply functional_extensionality; intros a.
    apply reinforce_response_gradient. }
  rewrite gradient.
  assert (forall s a, state_of n h s -> Stated.gradient_formula n h logits reward s a = step s a) as same.
  { intros s a inside; unfold step; rewrite response_gradient_advantage, advantage_centered
      by (assumption || apply inside); reflexivity. }
  assert (forall y, response_of n h y ->
    sum_along (fun s a => centered n (softmax n (logits s)) (Stated.gradient_formula n h logits reward s) a) y
    = sum_along (centered_policy n logits step) y) as same_score.
  { intros y [long_y below_n]; apply (sum_along_ext n h); [|lia|assumption]; intros s a inside a_inside.
    unfold centered_policy, centered; rewrite same by assumption; f_equal.
    apply mean_ext; intros; apply same, inside. }
  change (fun s a => log_softmax n (logits s) a) with (log_policy n logits).
  rewrite (covariance_responses_ext n h logits (sum_along (log_policy n logits)) _
    (sum_along (log_policy n logits)) (sum_along (centered_policy n logits step)))
    by (intros; try apply same_score; auto).
  split; [|split].
  - cbn [value_at].
    rewrite (value_ext n h logits _ (fun s a =>
      - (centered_policy n logits step s a * action_value n h logits (log_policy n logits) s a))).
    + rewrite value_opp, <- covariance_score_value by assumption; ring.
    + intros s a _ _; unfold action_value.
      change (fun u b => - log_softmax n (logits u) b) with (fun u b => - log_policy n logits u b).
      rewrite value_at_opp; unfold centered_policy, log_policy; ring.
  - intros w; apply is_derive_Reals; evar_last.
    + apply (is_derive_expected_reward_direction n h logits reward w some); lia.
    + apply sum_states_ext; intros s [short _]; apply sum_ext; intros a _.
      unfold step; rewrite response_gradient_advantage by assumption; reflexivity.
  - apply is_derive_Reals; evar_last.
    + apply (is_derive_response_entropy n h (fun t => moved logits t step) step 0 some).
      intros; apply is_derive_moved.
    + rewrite moved_0; reflexivity.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.sequence_covariance_pg.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)); witnessed.
Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require sequence_covariance_pg.
From Trusted.Conditions.extension Require sequence_covariance_pg.

Theorem entropy_under_policy_gradient_witness : Conditions.extension.sequence_covariance_pg.entropy_under_policy_gradient_witness.
Proof. exists 2%nat, 1%nat; repeat (split; [met|]); exists [], 0%nat; met. Qed.

Theorem entropy_under_policy_gradient_defined : Conditions.extension.sequence_covariance_pg.entropy_under_policy_gradient_defined.
Proof. intros n h z two _ y; apply probability_pos; lia. Qed.
