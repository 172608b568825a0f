From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition advantage_has_mean_zero : Prop :=
  forall (n h : nat) (z : policy) (reward : state -> R) (s : state),
  (2 <= n)%nat -> state_of n h s ->
  let V := sum_through n h z reward s / probability n z s in
  let Q a := sum_through n h z reward (s ++ [a]) / (probability n z s * softmax n (z s) a) in
  mean n (softmax n (z s)) (fun a => Q a - V) = 0 /\
  V = sum n (fun a => sum_through n h z reward (s ++ [a])) / probability n z s /\
  (forall a, (a < n)%nat -> Q a - V = advantage_at n h z (edge_reward h reward) s a).
