(* Generated from the formula of the claim aepo.collapse-or-explosion (AEPO, Section 4.2 (Figure 3: 'either entropy collapse or entropy explosion')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (correct : mask) (coefficient : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < coefficient ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  Rmin (entropy n (fun a => (if correct a then 1 else 0) / coefficient) - ln (total_on n correct (fun a => 1))) (ln (sum n (fun a => 1)) - entropy n (fun a => (if correct a then 1 else 0) / coefficient)) <= ln (sum n (fun a => 1)) / 10.

Definition defined : Prop :=
  forall (n : nat) (correct : mask) (coefficient : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < coefficient ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 < sum n (fun a => 1) /\
  coefficient <> 0 /\
  0 < total_on n correct (fun a => 1).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
