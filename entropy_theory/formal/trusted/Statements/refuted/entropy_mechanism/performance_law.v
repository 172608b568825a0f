(* Generated from the formula of the claim entropy-mechanism.performance-law (Entropy Mechanism, the transformation equation R = -a e^H + b). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Probability of a right answer. *)
Definition performance (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** One exact expected policy-gradient step per unit learning rate: pi (1_{A*} - R). *)
Definition gradient_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n logits) else - total_on n correct (softmax n logits)).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  (performance n (fun a => logits a + learning_rate * gradient_step n logits correct a) correct - performance n logits correct) * (exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a + learning_rate * gradient_step n (fun b => logits b + learning_rate * gradient_step n logits correct b) correct a)) - exp (entropy n logits)) = (performance n (fun a => logits a + learning_rate * gradient_step n logits correct a + learning_rate * gradient_step n (fun b => logits b + learning_rate * gradient_step n logits correct b) correct a) correct - performance n logits correct) * (exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a)) - exp (entropy n logits)).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
