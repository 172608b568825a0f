(** The entropy of responses of any lengths, along any differentiable path of the logits, and under the
    natural policy gradient.

    Which tokens end a response may depend on the state in any way (an end token: [ends s a] where a is
    that token); all responses have h tokens at most. The logits matter only where a token is chosen. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeEnds.
Import ListNotations.
Open Scope R_scope.

(** H moves by -Cov_y(log pi(y), d log pi(y)), shared parameters included; state by state it is the sum of
    d(s) {-Cov_s(log pi, v) + Cov_s(H(sa), v)} over the states at which a token is chosen. *)
Theorem entropy_of_any_lengths :
  forall (n h : nat) (ends : state -> mask) (path : R -> policy) (velocity : state -> vector) (t : R),
  (1 <= n)%nat ->
  (forall s a, state_of n h s -> running ends s = true -> (a < n)%nat ->
     derivative (fun r => path r s a) t (velocity s a)) ->
  let score := sum_along (centered_policy n (path t) velocity) in
  let rate :=
    - covariance_ended n h ends (path t) (fun y => ln (probability n (path t) y)) score in
  (forall y, response_of n h y ->
     derivative (fun r => ln (probability n (path r) (cut ends y))) t (score (cut ends y))) /\
  derivative (fun r => ended_entropy n h ends (path r)) t rate /\
  rate = sum_states n h (fun s => if running ends s then probability n (path t) s *
    (- covariance n (softmax n (path t s)) (log_softmax n (path t s)) (velocity s)
     + covariance n (softmax n (path t s)) (ended_entropy_to_go n h ends (path t) s) (velocity s))
    else 0).
Proof.
  intros n h ends path velocity t some differentiable score rate.
  assert (forall s a, state_of n h s -> running ends s = true -> (a < n)%nat ->
            is_derive (fun r => path r s a) t (velocity s a)) as moves
    by (intros; apply is_derive_Reals, differentiable; assumption).
  repeat split.
  - intros y response; apply is_derive_Reals, (is_derive_ln_probability_ended n h); assumption.
  - apply is_derive_Reals, is_derive_ended_entropy; assumption.
  - unfold rate, score; rewrite covariance_ended_log_policy, <- sum_states_opp by assumption.
    apply sum_states_ext; intros s _; destruct (running ends s); ring.
Qed.

(** Under the natural policy gradient of token logits H moves by -Cov_y(log pi(y), R(y) - V). The natural
    gradient is the token advantage, for the Fisher information of these responses and their expected
    reward. *)
Theorem natural_gradient_of_any_lengths :
  forall (n h : nat) (ends : state -> mask) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let step := advantage_at n h z (edge_reward h (fun y => reward (cut ends y))) in
  (forall w : state -> vector,
     derivative (fun t => mean_ended n h ends (moved z t w) reward) 0
       (mean_ended n h ends z (fun y =>
          sum_along (centered_policy n z step) y * sum_along (centered_policy n z w) y))) /\
  derivative (fun t => ended_entropy n h ends (moved z t step)) 0
    (- covariance_ended n h ends z (fun y => ln (probability n z y))
         (fun y => reward y - mean_ended n h ends z reward)).
Proof.
  intros n h ends z reward several long step; assert (0 < n)%nat as some by lia; split.
  - intros w; apply is_derive_Reals, natural_gradient_ended; assumption.
  - apply is_derive_Reals; evar_last.
    + apply (is_derive_ended_entropy n h ends (fun t => moved z t step) step 0 some).
      intros; apply is_derive_moved.
    + rewrite moved_0, !covariance_ended_cut by assumption; f_equal.
      apply covariance_responses_ext; [reflexivity|]; intros y response.
      apply sum_along_advantage_ended; assumption.
Qed.
