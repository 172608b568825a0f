(** What the theorems beside entropy_mechanism.lemma_3 suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
From Trusted.Theorems.entropy_mechanism Require Import lemma_3.
Open Scope R_scope.

Definition advantage_has_mean_zero_witness : Prop :=
  exists (n : nat) (h : nat) (s : state),
  (2 <= n)%nat /\
  state_of n h s /\
  exists a,
  (a < n)%nat.

Definition advantage_has_mean_zero_defined : Prop :=
  forall (n : nat) (h : nat) (z : policy) (s : state),
  (2 <= n)%nat ->
  state_of n h s ->
  probability n z s <> 0 /\
  (forall a,
  probability n z s * softmax n (z s) a <> 0) /\
  probability n z s <> 0.
