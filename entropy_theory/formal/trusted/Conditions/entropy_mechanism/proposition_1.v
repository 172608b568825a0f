(** What the theorems beside entropy_mechanism.proposition_1 suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
From Trusted.Theorems.entropy_mechanism Require Import proposition_1.
Open Scope R_scope.

Definition logit_step_of_policy_gradient_witness : Prop :=
  exists (n : nat) (h : nat) (s : state) (a : nat),
  (2 <= n)%nat /\
  state_of n h s /\
  (a < n)%nat /\
  h = 1%nat.
