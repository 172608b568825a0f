(** What the theorems beside entropy_mechanism.kl_cov_npg suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
From Trusted.Theorems.entropy_mechanism Require Import kl_cov_npg.
Open Scope R_scope.

Definition natural_step_witness : Prop :=
  exists n,
  (0 < n)%nat.

Definition natural_step_defined : Prop :=
  forall n logits,
  (0 < n)%nat ->
  forall b,
  (b < n)%nat ->
  softmax n logits b <> 0.
