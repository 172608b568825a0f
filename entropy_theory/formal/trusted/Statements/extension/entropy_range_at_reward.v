(* Generated from the formula of the claim extension.entropy-range-at-reward (Extension of Entropy Mechanism (the R-H law)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** h(R) from both probabilities, so that neither is lost in a difference from 1. *)
Definition binary (right : R) (wrong : R) : R :=
  - right * ln right - wrong * ln wrong.

(** Probability of a right answer. *)
Definition performance (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** Probability of a wrong answer, summed and not taken from 1. *)
Definition failure (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (softmax n logits).

(** R log m + (1 - R) log(n - m). *)
Definition widest (n : nat) (logits : vector) (correct : mask) : R :=
  performance n logits correct * ln (total_on n correct (fun a => 1)) + failure n logits correct * ln (Rmax (total_on n (fun a => negb (correct a)) (fun a => 1)) 1).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  binary (performance n logits correct) (failure n logits correct) <= entropy n logits /\
  entropy n logits <= binary (performance n logits correct) (failure n logits correct) + widest n logits correct.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition binary_defined (right : R) (wrong : R) : Prop :=
  0 < right /\
  0 < wrong.

Definition widest_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  0 < total_on n correct (fun a => 1) /\
  0 < Rmax (total_on n (fun a => negb (correct a)) (fun a => 1)) 1.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  binary_defined (performance n logits correct) (failure n logits correct) /\
  widest_defined n logits correct.
