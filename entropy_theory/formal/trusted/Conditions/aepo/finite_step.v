(** What the theorems beside aepo.finite_step suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.aepo Require Import finite_step.
Open Scope R_scope.

Definition learning_rates_exist_witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat /\
  1 < temperature /\
  rate n logits correct 1 < 0.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition learning_rates_exist_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat ->
  1 < temperature ->
  rate_defined n logits correct 1 /\
  (rate n logits correct 1 < 0 ->
  rate_defined n logits correct temperature /\
  rate_defined n logits correct 1).
