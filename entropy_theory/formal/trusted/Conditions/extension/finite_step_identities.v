(** What the theorems beside extension.finite_step_identities suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import finite_step_identities.
Open Scope R_scope.

Definition integrals_witness : Prop :=
  exists (n : nat),
  (1 <= n)%nat.

Definition divergence_pushes_down_witness : Prop :=
  exists (n : nat),
  (1 <= n)%nat.
