(** AEnt, Lemma 1: the gradient of the response entropy.

    Responses of h tokens out of n, logits of their own at every state. Element by element,
    dH/dz(s, a) = d(s) pi(a|s) (-log pi(a|s) + H_to(sa) - H_to(s)), the same number as REINFORCE with
    the weights -(log pi(y) + 1); and along any differentiable path of the logits, which may share
    parameters, dH = -E[sum_t (d log pi_t) sum_{t' >= t} log pi_t'] (A.1), d log pi = v - E v. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.aent Require lemma_1.
Module Stated := Statements.aent.lemma_1.
Import ListNotations.
Open Scope R_scope.

Theorem gradient_of_response_entropy :
  forall (n h : nat) (z : policy),
  (2 <= n)%nat -> (1 <= h)%nat ->
  (forall s a, state_of n h s -> (a < n)%nat ->
     let entropy_gradient := probability n z s * (softmax n (z s) a *
       (- log_softmax n (z s) a + entropy_to_come n h z s a
        - value_at n h z (fun u b => - log_policy n z u b) s)) in
     derivative (fun x => response_entropy n h (set_logit z s a x)) (z s a) entropy_gradient /\
     - gradient_over_responses n h z (fun y => sum_along (log_policy n z) y + 1) s a = entropy_gradient) /\
  (forall (path : R -> policy) (velocity : state -> vector) (t : R),
     (forall s a, state_of n h s -> (a < n)%nat ->
        derivative (fun r => path r s a) t (velocity s a)) ->
     (forall s a, state_of n h s -> (a < n)%nat ->
        derivative (fun r => log_policy n (path r) s a) t (centered_policy n (path t) velocity s a)) /\
     derivative (fun r => response_entropy n h (path r)) t
       (- mean_responses n h (path t)
            (sum_from_here_on (centered_policy n (path t) velocity) (log_policy n (path t))))).
Proof.
  intros n h z several long; assert (0 < n)%nat as some by lia; split.
  - intros s a inside a_inside entropy_gradient; split.
    + apply is_derive_Reals; apply (is_derive_response_entropy_logit n h z s a some inside a_inside).
    + rewrite response_gradient_sum_along by (assumption || apply inside).
      unfold entropy_gradient, entropy_to_come, advantage_at, action_value.
      rewrite !value_at_opp; unfold log_policy; ring.
  - intros path velocity t moves; split.
    + intros s a inside a_inside; apply is_derive_Reals; unfold log_policy, centered_policy.
      apply (is_derive_log_softmax n (fun r => path r s) (velocity s)); try assumption.
      intros b b_inside; apply is_derive_Reals, moves; assumption.
    + apply is_derive_Reals; evar_last.
      * apply (is_derive_response_entropy n h path velocity t some).
        intros s a inside a_inside; apply is_derive_Reals, moves; assumption.
      * rewrite covariance_score_value, mean_sum_from_here_on by assumption; reflexivity.
Qed.

Theorem proved : Statements.aent.lemma_1.statement.
Proof.
  unfold Stated.statement, Stated.direct_gradient, Stated.gradient_by_state, Stated.gradient_from_here_on, Stated.response_gradient.
  intros n h logits several long; assert (0 < n)%nat as some by lia.
  assert (forall s a, state_of n h s -> (a < n)%nat ->
    total_through n h (fun y => probability n logits y *
      (sum_along (fun u b => log_softmax n (logits u) b) y + 1)) s a
    - sum n (total_through n h (fun y => probability n logits y *
      (sum_along (fun u b => log_softmax n (logits u) b) y + 1)) s) * softmax n (logits s) a
    = probability n logits s * (softmax n (logits s) a * advantage_at n h logits (log_policy n logits) s a))
    as reinforce.
  { intros s a [short _] inside; rewrite reinforce_response_gradient.
    apply (response_gradient_sum_along n h logits (log_policy n logits) 1); assumption. }
  repeat split.
  - intros s inside a a_inside; rewrite reinforce by assumption; unfold advantage_at, action_value.
    change (fun u b => - log_softmax n (logits u) b) with (fun u b => - log_policy n logits u b).
    rewrite !value_at_opp; unfold log_policy; ring.
  - intros s inside a a_inside; rewrite reinforce by assumption.
    assert (forall b, total_through n h (fun y => probability n logits y *
        sum_along (fun u c => log_softmax n (logits u) c) y) s b
      - ln (probability n logits s) * total_through n h (probability n logits) s b
      = probability n logits s * softmax n (logits s) b * action_value n h logits (log_policy n logits) s b)
      as later.
    { intros b; rewrite total_through_visits, ln_probability by assumption.
      rewrite (total_through_sum_along n h logits (log_policy n logits)) by assumption; ring. }
    rewrite later, (sum_ext n _ (fun b => probability n logits s *
      (softmax n (logits s) b * action_value n h logits (log_policy n logits) s b)))
      by (intros; rewrite later; ring).
    rewrite sum_scal; fold (mean n (softmax n (logits s)) (action_value n h logits (log_policy n logits) s)).
    rewrite <- value_at_state by apply inside; unfold advantage_at; ring.
  - intros w; apply is_derive_Reals; evar_last;
      [apply (is_derive_response_entropy_direction n h logits w some)|reflexivity].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aent.lemma_1.witness.
Proof. exists 2%nat, 1%nat, (fun _ => (fun _ => 0)); witnessed. Qed.

Theorem defined : Statements.aent.lemma_1.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aent Require lemma_1.
From Trusted.Conditions.aent Require lemma_1.

Theorem gradient_of_response_entropy_witness : Conditions.aent.lemma_1.gradient_of_response_entropy_witness.
Proof. exists 2%nat, 1%nat; repeat (split; [met|]); exists [], 0%nat; met. Qed.

Theorem gradient_of_response_entropy_witness_1 : Conditions.aent.lemma_1.gradient_of_response_entropy_witness_1.
Proof.
  exists 2%nat, 1%nat; repeat (split; [met|]).
  exists (fun _ _ _ => 0), (fun _ _ => 0), 0; split; [intros; apply derivable_pt_lim_const|].
  exists [], 0%nat; met.
Qed.
