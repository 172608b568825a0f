(* Generated from the formula of the claim entropy-mechanism.printed-forms (Entropy Mechanism, takeaway box of the R-H law). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (a : R) (b : R),
  (2 <= n)%nat ->
  0 < a ->
  0 < b ->
  b - a * exp (entropy n logits) <= b - a.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (a : R) (b : R),
  (2 <= n)%nat /\
  0 < a /\
  0 < b.
