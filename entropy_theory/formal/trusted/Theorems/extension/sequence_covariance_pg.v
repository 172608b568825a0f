From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition entropy_under_policy_gradient : Prop :=
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let step := gradient_of_value n h z reward in
  (forall s a, state_of n h s -> (a < n)%nat ->
     derivative (fun x => mean_responses n h (set_logit z s a x) reward) (z s a) (step s a) /\
     gradient_over_responses n h z reward s a = step s a) /\
  derivative (fun t => response_entropy n h (moved z t (gradient_over_responses n h z reward))) 0
    (- covariance_responses n h z (fun y => ln (probability n z y))
         (sum_along (centered_policy n z step))).
