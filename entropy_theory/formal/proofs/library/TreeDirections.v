(** Derivatives on token trees along any direction of the logits, as inner products with a gradient; and
    sums over the responses that take a token at a state. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

(** * Sums through a token *)

Lemma total_through_probability n h z f s a :
  total_through n h (fun y => probability n z y * f y) s a = sum_through n h z f (s ++ [a]).
Proof.
  unfold total_through, sum_through; rewrite app_length; simpl length.
  replace (h - (length s + 1))%nat with (h - S (length s))%nat by lia.
  apply sum_responses_ext; intros y _; rewrite <- app_assoc; reflexivity.
Qed.

Lemma total_through_visits n h z s a :
  (0 < n)%nat -> total_through n h (probability n z) s a = probability n z s * softmax n (z s) a.
Proof.
  intros some; transitivity (total_through n h (fun y => probability n z y * 1) s a).
  - apply sum_responses_ext; intros; ring.
  - rewrite total_through_probability, probability_through, probability_child by assumption; reflexivity.
Qed.

(** REINFORCE written out over responses, with its sums through a token. *)
Lemma reinforce_response_gradient n h z weight s a :
  total_through n h (fun y => probability n z y * weight y) s a
  - sum n (total_through n h (fun y => probability n z y * weight y) s) * softmax n (z s) a
  = gradient_over_responses n h z weight s a.
Proof.
  unfold gradient_over_responses; rewrite total_through_probability; f_equal; f_equal.
  apply sum_ext; intros; apply total_through_probability.
Qed.

Lemma response_gradient_minus n h z f g c s a :
  gradient_over_responses n h z (fun y => f y - c * g y) s a =
  gradient_over_responses n h z f s a - c * gradient_over_responses n h z g s a.
Proof.
  assert (forall u, sum_through n h z (fun y => f y - c * g y) u =
                    sum_through n h z f u - c * sum_through n h z g u) as through.
  { intros u; unfold sum_through; rewrite <- sum_responses_scal, <- sum_responses_minus.
    apply sum_responses_ext; intros; ring. }
  unfold gradient_over_responses; rewrite through.
  rewrite (sum_ext n _ (fun b => sum_through n h z f (s ++ [b]) - c * sum_through n h z g (s ++ [b])))
    by (intros; apply through).
  rewrite sum_minus, sum_scal; ring.
Qed.

Lemma total_through_reward n h z reward s a :
  (0 < n)%nat -> (length s < h)%nat ->
  total_through n h (fun y => probability n z y * reward y) s a =
  probability n z s * softmax n (z s) a * action_value n h z (edge_reward h reward) s a.
Proof.
  intros some short; rewrite total_through_probability; apply sum_through_action_value; assumption.
Qed.

Lemma total_through_children n h z reward s :
  (0 < n)%nat -> (length s < h)%nat ->
  sum n (total_through n h (fun y => probability n z y * reward y) s) =
  probability n z s * value_at n h z (edge_reward h reward) s.
Proof.
  intros some short; rewrite <- sum_through_children by assumption.
  apply sum_ext; intros; apply total_through_probability.
Qed.

(** A sum along responses: what came before a state is a constant there. *)
Lemma total_through_sum_along n h z f s a :
  (0 < n)%nat ->
  total_through n h (fun y => probability n z y * sum_along f y) s a =
  probability n z s * softmax n (z s) a * (sum_along f s + action_value n h z f s a).
Proof.
  intros some; rewrite total_through_probability.
  transitivity (sum_through n h z (fun y => sum_along f y + 0) (s ++ [a])).
  - apply sum_responses_ext; intros; ring.
  - rewrite sum_through_sum_along, probability_child, sum_along_app by assumption.
    unfold action_value, below; simpl; rewrite app_nil_r; ring.
Qed.

(** * Along directions *)

Lemma is_derive_expected_reward_direction n h z reward w :
  (0 < n)%nat -> (0 < h)%nat ->
  is_derive (fun t => mean_responses n h (moved z t w) reward) 0
    (sum_states n h (fun s => sum n (fun a =>
       probability n z s * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a) * w s a))).
Proof.
  intros some long; evar_last.
  - apply (is_derive_expected_reward n h (fun t => moved z t w) w 0 some); [|assumption].
    intros; apply is_derive_moved.
  - rewrite moved_0; apply sum_states_ext; intros s _; unfold mean; rewrite <- sum_scal.
    apply sum_ext; intros; ring.
Qed.

Lemma is_derive_response_entropy_direction n h z w :
  (0 < n)%nat ->
  is_derive (fun t => response_entropy n h (moved z t w)) 0
    (sum_states n h (fun s => sum n (fun a =>
       probability n z s * softmax n (z s) a
       * advantage_at n h z (fun u b => - log_policy n z u b) s a * w s a))).
Proof.
  intros some; evar_last.
  - apply (is_derive_response_entropy n h (fun t => moved z t w) w 0 some).
    intros; apply is_derive_moved.
  - rewrite moved_0, covariance_score_states, <- sum_states_opp by assumption.
    apply sum_states_ext; intros s [short _]; rewrite covariance_action_value by assumption.
    unfold mean; rewrite <- sum_scal, <- sum_opp; apply sum_ext; intros a _.
    unfold advantage_at, action_value; rewrite !value_at_opp; ring.
Qed.

Lemma advantage_regularized n h z reward lambda s a :
  advantage_at n h z (edge_with_entropy n h z reward lambda) s a =
  advantage_at n h z (edge_reward h reward) s a
  + lambda * advantage_at n h z (fun u b => - log_policy n z u b) s a.
Proof.
  unfold advantage_at, action_value, edge_with_entropy; rewrite !value_at_regularized, !value_at_opp; ring.
Qed.

Lemma is_derive_regularized_value_direction n h z reward lambda w :
  (0 < n)%nat -> (0 < h)%nat ->
  is_derive (fun t => value_with_entropy n h (moved z t w) reward lambda) 0
    (sum_states n h (fun s => sum n (fun a =>
       probability n z s * softmax n (z s) a
       * advantage_at n h z (edge_with_entropy n h z reward lambda) s a * w s a))).
Proof.
  intros some long; evar_last.
  - apply @is_derive_plus; [apply is_derive_expected_reward_direction; assumption|].
    apply is_derive_scal, is_derive_response_entropy_direction; assumption.
  - unfold plus; simpl; rewrite <- sum_states_scal, <- sum_states_plus.
    apply sum_states_ext; intros s _; rewrite <- sum_scal, <- sum_plus.
    apply sum_ext; intros; rewrite advantage_regularized; ring.
Qed.
