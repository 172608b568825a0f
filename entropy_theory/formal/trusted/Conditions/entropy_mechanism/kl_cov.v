(** What the theorems beside entropy_mechanism.kl_cov suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Statements.entropy_mechanism Require kl_cov.
Import Statements.entropy_mechanism.kl_cov(old_policy, log_ratio, selected, penalty_score).
From Trusted.Theorems.entropy_mechanism Require Import kl_cov.
Open Scope R_scope.

Definition slope_of_penalty_witness : Prop :=
  exists n logits drift (A : mask),
  (0 < n)%nat /\
  (forall a, (a < n)%nat -> A a = true -> log_ratio n logits drift a <> 0).
