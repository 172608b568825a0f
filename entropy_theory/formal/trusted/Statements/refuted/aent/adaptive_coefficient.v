(* Generated from the formula of the claim aent.adaptive-coefficient (AEnt, Section 4.2, Eq. 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Logits after a natural-gradient step: (1 - eta lambda) z + eta r. *)
Definition regularized_step (n : nat) (logits : vector) (coefficient : R) (correct : mask) : vector :=
  fun a => (1 - 1 / 2 * coefficient) * logits a + 1 / 2 * (if correct a then 1 else 0).

(** f(H): above zero below the band, below zero above it. *)
Definition force (entropy_ : R) (low : R) (high : R) : R :=
  Rmax (low - entropy_) 0 - Rmax (entropy_ - high) 0.

(** The coefficient after Eq. 4.1: moved by the force, and put back into its box. *)
Definition adapted (coefficient : R) (entropy_ : R) (low : R) (high : R) (least : R) (most : R) (gain : R) : R :=
  Rmin (Rmax (coefficient + gain * force entropy_ low high) least) most.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (low : R) (high : R) (least : R) (most : R) (gain : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < low ->
  0 < high ->
  0 < least ->
  0 < most ->
  0 < gain ->
  low < high ->
  least < most ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 <= Rmin (entropy n (fst (run (fun j (parts : vector * R) => let (z, c) := parts in ((regularized_step n z c correct), (adapted c (entropy n (regularized_step n z c correct)) low high least most gain))) (logits, least) 16)) - 9 * low / 10) (11 * high / 10 - entropy n (fst (run (fun j (parts : vector * R) => let (z, c) := parts in ((regularized_step n z c correct), (adapted c (entropy n (regularized_step n z c correct)) low high least most gain))) (logits, least) 16))).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
