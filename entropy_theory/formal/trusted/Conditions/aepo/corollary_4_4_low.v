(** What the theorems beside aepo.corollary_4_4_low suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Trusted Require Import Definitions.
From Trusted.Theorems.aepo Require Import corollary_4_4_low.
Open Scope R_scope.

Definition relative_decrease_near_one_witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat /\
  untempered_rate n logits correct < 0.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition relative_decrease_near_one_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  untempered_rate n logits correct < 0 ->
  forall closest,
  0 <= closest < 1 ->
  forall temperature,
  closest < temperature ->
  temperature < 1 ->
  rate_defined n logits correct temperature.

Definition without_hypothesis_it_is_false_witness : Prop :=
  exists near,
  near < 1.

Definition without_hypothesis_it_is_false_defined : Prop :=
  forall near,
  near < 1 ->
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  near < temperature ->
  temperature < 1 ->
  rate_defined n logits correct temperature.
