From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition gradient_of_response_entropy : Prop :=
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
