(** What the theorems beside aent.lemma_2 suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
From Trusted.Theorems.aent Require Import lemma_2.
Open Scope R_scope.

Definition baselines_add_nothing_witness : Prop :=
  exists (n : nat) (h : nat),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  exists s a,
  state_of n h s /\
  (a < n)%nat.
