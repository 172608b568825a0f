(* Generated from the formula of the claim entropy-mechanism.ceiling (Entropy Mechanism, the ceiling at H = 0). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Probability of a right answer. *)
Definition performance (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** Probability of a wrong answer, summed and not taken from 1. *)
Definition failure (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (softmax n logits).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  2 * ln 2 * Rmin (performance n logits correct) (failure n logits correct) <= entropy n logits.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < 2.
