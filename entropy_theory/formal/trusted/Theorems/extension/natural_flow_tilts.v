From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition flow_tilts_responses : Prop :=
  forall (n h : nat) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let flow (path : R -> policy) := exists shift : R -> state -> R,
    forall t s a, 0 <= t -> state_of n h s -> (a < n)%nat ->
    derivative (fun r => path r s a) t
      (advantage_at n h (path t) (edge_reward h reward) s a + shift t s) in
  (forall path, flow path -> forall t y, 0 <= t -> response_of n h y ->
     probability n (path t) y =
     probability n (path 0) y * exp (t * reward y)
     / mean_responses n h (path 0) (fun x => exp (t * reward x))) /\
  (forall z, exists path, flow path /\
     forall s a, state_of n h s -> (a < n)%nat -> path 0 s a = z s a).
