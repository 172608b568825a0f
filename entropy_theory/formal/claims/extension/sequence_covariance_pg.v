(** Extension of the Entropy Mechanism, Theorem 1: under the policy gradient of token logits the entropy
    of responses moves by -Cov_y(log pi(y), sum_t (x_t - E x_t)), x_t = d(s_t) pi(a_t|s_t) A(s_t, a_t).

    The step is the gradient of E R, logit by logit, and REINFORCE written out over responses. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let step := gradient_formula n h z reward in
  (forall s a, state_of n h s -> (a < n)%nat ->
     derivative (fun x => mean_responses n h (set_logit z s a x) reward) (z s a) (step s a) /\
     response_gradient n h z reward s a = step s a) /\
  derivative (fun t => response_entropy n h (moved z t (response_gradient n h z reward))) 0
    (- covariance_responses n h z (fun y => ln (probability n z y))
         (sum_along (centered_policy n z step))).
Proof.
  intros n h z reward several long step; assert (0 < n)%nat as some by lia; split.
  - intros s a inside a_inside; split.
    + apply is_derive_Reals, is_derive_expected_reward_logit; assumption.
    + apply response_gradient_advantage; [assumption|apply inside].
  - apply is_derive_Reals; evar_last.
    + apply (is_derive_response_entropy n h
               (fun t => moved z t (response_gradient n h z reward)) step 0 some).
      intros s a [short _] _; unfold step, gradient_formula.
      rewrite <- response_gradient_advantage by assumption; apply is_derive_moved.
    + rewrite moved_0; f_equal; apply covariance_responses_ext; intros y _.
      * symmetry; apply ln_probability, some.
      * reflexivity.
Qed.
