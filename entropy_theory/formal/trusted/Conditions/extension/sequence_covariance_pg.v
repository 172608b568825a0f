(** What the theorems beside extension.sequence_covariance_pg suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
From Trusted.Theorems.extension Require Import sequence_covariance_pg.
Open Scope R_scope.

Definition entropy_under_policy_gradient_witness : Prop :=
  exists (n : nat) (h : nat),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  exists s a,
  state_of n h s /\
  (a < n)%nat.

Definition entropy_under_policy_gradient_defined : Prop :=
  forall (n : nat) (h : nat) (z : policy),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  forall y,
  0 < probability n z y.
