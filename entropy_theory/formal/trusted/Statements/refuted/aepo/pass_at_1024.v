(* Generated from the formula of the claim aepo.pass-at-1024 (AEPO, abstract and Section 5.2 (Table 2)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (aepo : R) (base : R),
  ((aepo = 25 /\ base = 24) \/
   (aepo = 22 /\ base = 22)) ->
  base < aepo.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
