(** What the theorems beside extension.natural_flow_tilts suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
From Trusted.Theorems.extension Require Import natural_flow_tilts.
Open Scope R_scope.

Definition flow_tilts_responses_witness : Prop :=
  exists (n : nat) (h : nat) (reward : state -> R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  let flow (path : R -> policy) := exists shift : R -> state -> R, forall t s a, 0 <= t -> state_of n h s -> (a < n)%nat -> derivative (fun r => path r s a) t (advantage_at n h (path t) (edge_reward h reward) s a + shift t s) in
  exists path,
  flow path /\
  exists t y,
  0 <= t /\
  response_of n h y.

Definition flow_tilts_responses_defined : Prop :=
  forall (n : nat) (h : nat) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  let flow (path : R -> policy) := exists shift : R -> state -> R, forall t s a, 0 <= t -> state_of n h s -> (a < n)%nat -> derivative (fun r => path r s a) t (advantage_at n h (path t) (edge_reward h reward) s a + shift t s) in
  forall path,
  flow path ->
  forall t y,
  0 <= t ->
  response_of n h y ->
  mean_responses n h (path 0) (fun x => exp (t * reward x)) <> 0.
