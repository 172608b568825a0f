(** What the theorems beside extension.sign_change_temperature suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals Bool.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import sign_change_temperature.
Open Scope R_scope.

Definition rises_somewhere_iff_witness : Prop :=
  exists (n : nat) (correct : mask),
  (1 <= n)%nat /\
  nonempty n correct.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition rises_somewhere_iff_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  nonempty n correct ->
  forall T,
  0 < T ->
  rate_defined n logits correct T.

Definition falls_somewhere_iff_witness : Prop :=
  exists (n : nat) (correct : mask),
  (1 <= n)%nat /\
  nonempty n correct.

Definition falls_somewhere_iff_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  nonempty n correct ->
  forall T,
  0 < T ->
  rate_defined n logits correct T.

Definition sign_change_witness : Prop :=
  exists (n : nat) (correct : mask),
  (1 <= n)%nat /\
  nonempty n correct.

Definition sign_change_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  nonempty n correct ->
  forall T0,
  0 < T0 ->
  (forall T,
  0 < T ->
  T < T0 ->
  rate_defined n logits correct T) /\
  (forall T,
  T0 < T ->
  rate_defined n logits correct T).

Definition one_correct_answer_witness : Prop :=
  exists (n : nat) (k : nat) (temperature : R),
  (k < n)%nat /\
  0 < temperature.

Definition one_correct_answer_defined : Prop :=
  forall (n : nat) (logits : vector) (k : nat) (temperature : R),
  (k < n)%nat ->
  0 < temperature ->
  rate_defined n logits (single k) temperature /\
  temperature <> 0 /\
  temperature <> 0.

Definition every_action_correct_witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat /\
  everything n correct /\
  0 < temperature /\
  0 < largest n logits - smallest n logits /\
  1 < temperature.

Definition every_action_correct_witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat /\
  everything n correct /\
  0 < temperature /\
  0 < largest n logits - smallest n logits /\
  temperature < 1.

Definition every_action_correct_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat ->
  everything n correct ->
  0 < temperature ->
  0 < largest n logits - smallest n logits ->
  (1 < temperature ->
  rate_defined n logits correct temperature) /\
  (temperature < 1 ->
  rate_defined n logits correct temperature).
