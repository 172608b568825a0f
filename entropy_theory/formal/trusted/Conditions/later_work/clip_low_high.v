(** What the theorems beside later_work.clip_low_high suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.later_work Require Import clip_low_high.
Open Scope R_scope.

Definition slope_of_positive_token_witness : Prop :=
  exists epsilon r,
  0 < epsilon /\
  r < 1 + epsilon.

Definition slope_of_positive_token_witness_1 : Prop :=
  exists epsilon r,
  0 < epsilon /\
  1 + epsilon < r.

Definition slope_of_negative_token_witness : Prop :=
  exists epsilon r,
  0 < epsilon /\
  1 - epsilon < r.

Definition slope_of_negative_token_witness_1 : Prop :=
  exists epsilon r,
  0 < epsilon /\
  r < 1 - epsilon.
