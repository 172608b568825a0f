(** What the theorems beside aent.lemma_3 suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
From Trusted.Theorems.aent Require Import lemma_3.
Open Scope R_scope.

Definition gradient_of_regularized_value_witness : Prop :=
  exists (n : nat) (h : nat) (m : nat) (prompt : nat) (s : state) (a : nat),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (prompt < m)%nat /\
  state_of n h s /\
  (a < n)%nat.

Definition gradient_of_regularized_value_defined : Prop :=
  forall (n : nat) (h : nat) (m : nat) (prompt : nat) (s : state) (a : nat),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (prompt < m)%nat ->
  state_of n h s ->
  (a < n)%nat ->
  INR m <> 0.
