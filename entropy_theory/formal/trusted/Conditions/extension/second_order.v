(** What the theorems beside extension.second_order suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import second_order.
Open Scope R_scope.

Definition as_one_expectation_witness : Prop :=
  exists (n : nat),
  (1 <= n)%nat.
