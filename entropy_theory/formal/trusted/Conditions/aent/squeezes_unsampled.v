(** What the theorems beside aent.squeezes_unsampled suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.aent Require Import squeezes_unsampled.
Open Scope R_scope.

Definition rate_of_other_witness : Prop :=
  exists (n : nat) (k : nat),
  (k < n)%nat /\
  exists (a : nat),
  (a < n)%nat /\
  a <> k.
