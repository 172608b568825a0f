(** What the theorems beside extension.hessian suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import hessian.
Open Scope R_scope.

Definition second_derivatives_witness : Prop :=
  exists (n : nat) (a : nat) (b : nat),
  (a < n)%nat /\
  (b < n)%nat.
