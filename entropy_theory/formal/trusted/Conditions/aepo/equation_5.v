(** What the theorems beside aepo.equation_5 suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.aepo Require Import equation_5.
Open Scope R_scope.

Definition expected_score_witness : Prop :=
  exists (n : nat) (temperature : R) (k : nat),
  (1 <= n)%nat /\
  (k < n)%nat /\
  0 < temperature.

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition expected_score_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (k : nat),
  (1 <= n)%nat ->
  (k < n)%nat ->
  0 < temperature ->
  temperature <> 0 /\
  unit_step_defined n logits correct temperature.
