(** What the theorems beside extension.global_tempering suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import global_tempering.
Open Scope R_scope.

Definition and_back_witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (lower : R) (temperature : R),
  (1 <= n)%nat /\
  0 < lower /\
  lower < temperature /\
  rate n logits correct temperature < 0.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition and_back_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (lower : R) (temperature : R),
  (1 <= n)%nat ->
  0 < lower ->
  lower < temperature ->
  rate_defined n logits correct temperature /\
  (rate n logits correct temperature < 0 ->
  rate_defined n logits correct lower).

Definition one_sign_change_witness : Prop :=
  exists (n : nat) (correct : mask),
  (1 <= n)%nat /\
  nonempty n correct.

Definition one_sign_change_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  nonempty n correct ->
  (forall T,
  0 < T ->
  rate_defined n logits correct T) /\
  ((forall T,
  0 < T ->
  rate_defined n logits correct T) /\
  ((forall T,
  0 < T ->
  rate_defined n logits correct T) /\
  (forall T0,
  0 < T0 ->
  (forall T,
  0 < T ->
  T < T0 ->
  rate_defined n logits correct T) /\
  (forall T,
  T0 < T ->
  rate_defined n logits correct T)))).
