From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition baselines_add_nothing : Prop :=
  forall (n h : nat) (z : policy) (baseline : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  (forall velocity : state -> vector,
     mean_responses n h z (sum_along (fun s a => centered_policy n z velocity s a * baseline s)) = 0) /\
  (forall s a, state_of n h s -> (a < n)%nat ->
     baseline s * sum_through n h z (fun _ => 1) (s ++ [a])
     - sum n (fun b => baseline s * sum_through n h z (fun _ => 1) (s ++ [b])) * softmax n (z s) a = 0).
