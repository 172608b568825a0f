(* Generated from the formula of the claim entropy-mechanism.table-1-symmetry (Entropy Mechanism, Table 1 (implied by its last two rows)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (upper_half : R) (mean_ : R),
  303 / 2000 <= upper_half ->
  upper_half <= 61 / 400 ->
  1 / 400 <= mean_ ->
  mean_ <= 7 / 2000 ->
  19 / 20 * upper_half <= - (2 * mean_ - upper_half) /\
  0 <= 97 / 100 * upper_half + (2 * mean_ - upper_half) /\
  Rabs (2 * mean_ - upper_half + 73 / 500) <= 1 / 500.

Definition witness : Prop :=
  exists (upper_half : R) (mean_ : R),
  303 / 2000 <= upper_half /\
  upper_half <= 61 / 400 /\
  1 / 400 <= mean_ /\
  mean_ <= 7 / 2000.
