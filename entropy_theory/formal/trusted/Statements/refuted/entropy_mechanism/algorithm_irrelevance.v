(* Generated from the formula of the claim entropy-mechanism.algorithm-irrelevance (Entropy Mechanism, 'the coefficients are algorithm-irrelevant'). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Probability of a right answer. *)
Definition performance (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** One exact expected policy-gradient step per unit learning rate: pi (1_{A*} - R). *)
Definition gradient_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n logits) else - total_on n correct (softmax n logits)).

(** Probability of a wrong answer, summed and not taken from 1. *)
Definition failure (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (softmax n logits).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  entropy n (fun a => logits a + (if correct a then ln (performance n (fun b => logits b + learning_rate * gradient_step n logits correct b) correct) - ln (failure n (fun b => logits b + learning_rate * gradient_step n logits correct b) correct) - (ln (performance n logits correct) - ln (failure n logits correct)) else 0)) = entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall a, (a < n)%nat -> (correct a = true) -> 0 < performance n (fun b => logits b + learning_rate * gradient_step n logits correct b) correct) /\
  (forall a, (a < n)%nat -> (correct a = true) -> 0 < failure n (fun b => logits b + learning_rate * gradient_step n logits correct b) correct) /\
  (forall a, (a < n)%nat -> (correct a = true) -> 0 < performance n logits correct) /\
  (forall a, (a < n)%nat -> (correct a = true) -> 0 < failure n logits correct).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
