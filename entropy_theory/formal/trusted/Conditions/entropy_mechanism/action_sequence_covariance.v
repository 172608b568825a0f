(** What the theorems beside entropy_mechanism.action_sequence_covariance suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
From Trusted.Theorems.entropy_mechanism Require Import action_sequence_covariance.
Open Scope R_scope.

Definition covariance_of_actions_as_of_responses_witness : Prop :=
  exists (n : nat) (h : nat),
  (2 <= n)%nat /\
  (1 <= h)%nat.
