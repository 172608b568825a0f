(* Generated from the formula of the claim aepo.equation-1-clip (AEPO, Eq. (1), second term). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (ratio : R) (epsilon : R),
  0 < ratio ->
  0 < epsilon ->
  Rmin ratio (Rmax (1 - epsilon) (Rmin ratio (1 + epsilon))) = Rmin ratio (1 + epsilon).

Definition witness : Prop :=
  exists (ratio : R) (epsilon : R),
  0 < ratio /\
  0 < epsilon.
