(** Entropy Mechanism, Theorem 1, repaired: under the exact policy gradient the entropy at state s moves by
    -eta d(s) Cov_s(log pi, pi A), up to (1/4)(1 + log n) times the square of the step at s.

    d(s) is the probability of visiting s, and 1 for responses of one token, where the printed theorem
    holds. The step is eta times REINFORCE written out over responses, the gradient of E R. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import Curvature EntropyChange.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
  forall (n h : nat) (z : policy) (reward : state -> R) (learning_rate : R) (s : state),
  (2 <= n)%nat -> 0 < learning_rate -> state_of n h s ->
  let step a := learning_rate * response_gradient n h z reward s a in
  let rate := - probability n z s * covariance n (softmax n (z s)) (log_softmax n (z s))
    (fun a => softmax n (z s) a * advantage n h z (edge_reward h reward) s a) in
  (forall a, (a < n)%nat -> derivative (fun x => mean_responses n h (set_logit z s a x) reward) (z s a)
     (response_gradient n h z reward s a)) /\
  Rabs (entropy n (fun a => z s a + step a) - entropy n (z s) - learning_rate * rate)
    <= (1 + ln (INR n)) * sum n (fun a => step a * step a) / 4 /\
  (h = 1%nat -> probability n z s = 1).
Proof.
  intros n h z reward eta s several positive inside step rate; assert (0 < n)%nat as some by lia.
  repeat split.
  - intros a a_inside; rewrite response_gradient_advantage by (assumption || apply inside).
    apply is_derive_Reals, is_derive_expected_reward_logit; assumption.
  - pose proof (first_order_error n (z s) step some) as error; unfold entropy_change in error.
    replace (entropy n (fun a => z s a + step a) - entropy n (z s) - eta * rate)
      with (entropy n (moved_by (z s) step) - entropy n (z s)
            + covariance n (softmax n (z s)) (log_softmax n (z s)) step); [exact error|].
    rewrite (covariance_ext n _ _ step (log_softmax n (z s)) (fun a => eta * probability n z s *
      (softmax n (z s) a * advantage n h z (edge_reward h reward) s a))).
    + rewrite covariance_scal_r; unfold rate, moved_by; ring.
    + reflexivity.
    + intros a _; unfold step; rewrite response_gradient_advantage by (assumption || apply inside).
      ring.
  - intros one; destruct inside as [short _]; destruct s; [reflexivity|simpl in short; lia].
Qed.
