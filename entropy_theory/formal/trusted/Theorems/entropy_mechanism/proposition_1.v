From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition logit_step_of_policy_gradient : Prop :=
  forall (n h : nat) (z : policy) (reward : state -> R) (s : state) (a : nat),
  (2 <= n)%nat -> state_of n h s -> (a < n)%nat ->
  derivative (fun x => mean_responses n h (set_logit z s a x) reward) (z s a)
    (probability n z s * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a)) /\
  gradient_over_responses n h z reward s a =
    probability n z s * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a) /\
  (h = 1%nat -> gradient_over_responses n h z reward s a =
    softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a).
