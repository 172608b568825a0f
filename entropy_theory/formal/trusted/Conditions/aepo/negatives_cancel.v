(** What the theorems beside aepo.negatives_cancel suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Trusted Require Import Definitions.
From Trusted.Theorems.aepo Require Import negatives_cancel.
Open Scope R_scope.

Definition effect_of_centering_witness : Prop :=
  exists (temperature : R),
  0 < temperature.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition effect_of_centering_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  0 < temperature ->
  temperature <> 0 /\
  rate_defined n logits correct temperature /\
  rate_defined n logits (fun _ => true) temperature.

Definition no_counteraction_at_one_witness : Prop :=
  exists (n : nat),
  (1 <= n)%nat.
