(** Extension: along any differentiable path of a policy's logits, shared parameters included, the
    entropy of responses moves by -Cov_y(log pi(y), d log pi(y)).

    The logits of all states may depend on the path in any differentiable way, so a network's do, and
    the derivative of the entropy is the sum over states of d(s) {-Cov_s(log pi, v) + Cov_s(H(sa), v)}
    as well, v the velocity of the logits. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From Trusted.Statements.extension Require response_entropy_identity.
Module Stated := Statements.extension.response_entropy_identity.
Import ListNotations.
Open Scope R_scope.

Theorem entropy_along_any_path :
  forall (n h : nat) (path : R -> policy) (velocity : state -> vector) (t : R),
  (1 <= n)%nat ->
  (forall s a, state_of n h s -> (a < n)%nat -> derivative (fun r => path r s a) t (velocity s a)) ->
  let score := sum_along (centered_policy n (path t) velocity) in
  let rate :=
    - covariance_responses n h (path t) (fun y => ln (probability n (path t) y)) score in
  (forall y, response_of n h y -> derivative (fun r => ln (probability n (path r) y)) t (score y)) /\
  derivative (fun r => response_entropy n h (path r)) t rate /\
  rate = sum_states n h (fun s => probability n (path t) s *
    (- covariance n (softmax n (path t s)) (log_softmax n (path t s)) (velocity s)
     + covariance n (softmax n (path t s)) (entropy_to_come n h (path t) s) (velocity s))).
Proof.
  intros n h path velocity t some differentiable score rate.
  assert (forall s a, state_of n h s -> (a < n)%nat ->
            is_derive (fun r => path r s a) t (velocity s a)) as moves
    by (intros; apply is_derive_Reals, differentiable; assumption).
  assert (rate = - covariance_responses n h (path t) (sum_along (log_policy n (path t))) score)
    as along.
  { unfold rate; f_equal; apply covariance_responses_ext; intros y _; [|reflexivity].
    apply ln_probability, some. }
  repeat split.
  - intros y [long below_n]; apply is_derive_Reals.
    apply (is_derive_ln_probability n t y h path velocity); try assumption; lia.
  - rewrite along; apply is_derive_Reals, is_derive_response_entropy; assumption.
  - rewrite along; unfold score.
    rewrite covariance_log_policy_states, <- sum_states_opp by assumption.
    apply sum_states_ext; intros s _.
    rewrite covariance_minus_l by (apply softmax_sum, some); ring.
Qed.

Theorem proved : Statements.extension.response_entropy_identity.statement.
Proof.
  unfold Stated.statement, Stated.entropy_rate, Stated.response_covariance, Stated.summed,
    Stated.action_covariance.
  intros n h logits step several long; assert (0 < n)%nat as some by lia.
  assert (value_at n h logits (fun s a => centered n (softmax n (logits s)) (step s) a *
            action_value n h logits (fun u b => - log_softmax n (logits u) b) s a) []
          = - covariance_responses n h logits (sum_along (log_policy n logits))
                (sum_along (centered_policy n logits step))) as by_responses.
  { rewrite covariance_score_value by assumption; cbn [value_at].
    rewrite <- value_opp; apply value_ext; intros s a _ _.
    unfold action_value; change (fun u b => - log_softmax n (logits u) b)
      with (fun u b => - log_policy n logits u b).
    rewrite value_at_opp; unfold centered_policy, log_policy; ring. }
  split; [split|split].
  - rewrite by_responses.
    change (sum_along (fun s a => log_softmax n (logits s) a)) with (sum_along (log_policy n logits)).
    change (sum_along (fun s a => centered n (softmax n (logits s)) (step s) a))
      with (sum_along (centered_policy n logits step)).
    ring.
  - rewrite by_responses, covariance_log_policy_states, <- sum_states_opp by assumption.
    apply sum_states_ext; intros s _; rewrite Ropp_mult_distr_r; f_equal.
    rewrite !covariance_minus_l by (apply softmax_sum, some).
    rewrite (covariance_ext n _ (Stated.entropy_to_go n h logits s) (step s)
      (entropy_to_come n h logits s) (step s)); [ring| |reflexivity].
    intros a _; unfold Stated.entropy_to_go, action_value, entropy_to_come, log_policy; ring.
  - intros path velocity moves y response.
    destruct (entropy_along_any_path n h path velocity 0 some) as [score _];
      [intros; apply moves; assumption|].
    apply is_derive_Reals; apply is_derive_ext with (f := fun t => ln (probability n (path t) y)).
    { intros t; apply ln_probability, some. }
    apply is_derive_Reals, score, response.
  - intros path velocity moves.
    destruct (entropy_along_any_path n h path velocity 0 some) as [_ [rate _]];
      [intros; apply moves; assumption|].
    rewrite (covariance_responses_ext n h (path 0) (fun y => ln (probability n (path 0) y)) _
      (sum_along (log_policy n (path 0))) (sum_along (centered_policy n (path 0) velocity)))
      in rate by (intros; try apply ln_probability; auto).
    exact rate.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses.

Theorem witness : Statements.extension.response_entropy_identity.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0
    end)); witnessed.
Qed.

Theorem witness_1 : Statements.extension.response_entropy_identity.witness_1.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0
    end)); limits_witnessed.
Qed.

Theorem witness_2 : Statements.extension.response_entropy_identity.witness_2.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0
    end)); limits_witnessed.
Qed.
