(** What the theorems beside aent.lemma_1 suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
From Trusted.Theorems.aent Require Import lemma_1.
Open Scope R_scope.

Definition gradient_of_response_entropy_witness : Prop :=
  exists (n : nat) (h : nat),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  exists s a,
  state_of n h s /\
  (a < n)%nat.

Definition gradient_of_response_entropy_witness_1 : Prop :=
  exists (n : nat) (h : nat),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  exists (path : R -> policy) (velocity : state -> vector) (t : R),
  (forall s a, state_of n h s -> (a < n)%nat -> derivative (fun r => path r s a) t (velocity s a)) /\
  exists s a,
  state_of n h s /\
  (a < n)%nat.
