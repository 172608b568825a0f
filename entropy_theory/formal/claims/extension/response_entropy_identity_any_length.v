(** Extension: the entropy of responses of any lengths moves by -Cov_y(log pi(y), d log pi(y)), along any
    differentiable path of a policy's logits, shared parameters included.

    Which tokens end a response may depend on the state in any way (an end token: [ends s a] where a is
    that token); all responses have h tokens at most. The logits matter only where a token is chosen. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeEnds.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
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
