From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition covariance_of_actions_as_of_responses : Prop :=
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let sides x :=
    sum_states n h (fun s => probability n z s *
      covariance n (softmax n (z s)) (fun a => log_softmax n (z s) a - entropy_to_come n h z s a) (x s))
    = covariance_responses n h z (sum_along (log_policy n z)) (sum_along (centered_policy n z x)) in
  sides (gradient_of_value n h z reward) /\ forall x, sides x.
