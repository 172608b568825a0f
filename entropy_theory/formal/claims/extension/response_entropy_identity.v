(** Extension: along any differentiable path of a policy's logits, shared parameters included, the
    entropy of responses moves by -Cov_y(log pi(y), d log pi(y)).

    The logits of all states may depend on the path in any differentiable way, so a network's do, and
    the derivative of the entropy is the sum over states of d(s) {-Cov_s(log pi, v) + Cov_s(H(sa), v)}
    as well, v the velocity of the logits. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
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
     + covariance n (softmax n (path t s)) (entropy_to_go n h (path t) s) (velocity s))).
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
