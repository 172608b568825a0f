(* Generated from the formula of the claim entropy-mechanism.algorithm-irrelevance (Entropy Mechanism, 'the coefficients are algorithm-irrelevant'). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The first logit for the right actions and the second for the wrong ones. *)
Definition two_logits (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then logits 0%nat else logits 1%nat.

(** Probability of a right answer. *)
Definition performance (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** One exact expected policy-gradient step per unit learning rate: pi (1_{A*} - R). *)
Definition gradient_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n logits) else - total_on n correct (softmax n logits)).

(** Probability of a wrong answer, summed and not taken from 1. *)
Definition failure (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (softmax n logits).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  entropy n (fun a => two_logits n logits correct a + (if correct a then ln (performance n (fun b => two_logits n logits correct b + learning_rate * gradient_step n (two_logits n logits correct) correct b) correct) - ln (failure n (fun b => two_logits n logits correct b + learning_rate * gradient_step n (two_logits n logits correct) correct b) correct) - (ln (performance n (two_logits n logits correct) correct) - ln (failure n (two_logits n logits correct) correct)) else 0)) = entropy n (fun a => two_logits n logits correct a + learning_rate * gradient_step n (two_logits n logits correct) correct a).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < learning_rate /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall a, (a < n)%nat -> (correct a = true) -> 0 < performance n (fun b => two_logits n logits correct b + learning_rate * gradient_step n (two_logits n logits correct) correct b) correct) /\
  (forall a, (a < n)%nat -> (correct a = true) -> 0 < failure n (fun b => two_logits n logits correct b + learning_rate * gradient_step n (two_logits n logits correct) correct b) correct) /\
  (forall a, (a < n)%nat -> (correct a = true) -> 0 < performance n (two_logits n logits correct) correct) /\
  (forall a, (a < n)%nat -> (correct a = true) -> 0 < failure n (two_logits n logits correct) correct).
