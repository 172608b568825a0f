(* Generated from the formula of the claim entropy-mechanism.printed-forms (Entropy Mechanism, takeaway box of the R-H law). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (a : R) (b : R),
  (2 <= n)%nat ->
  0 < a ->
  0 < b ->
  0 <= - a * exp (entropy n logits + b).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
