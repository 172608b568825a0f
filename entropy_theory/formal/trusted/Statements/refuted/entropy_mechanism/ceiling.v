(* Generated from the formula of the claim entropy-mechanism.ceiling (Entropy Mechanism, the ceiling at H = 0). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** One exact expected policy-gradient step per unit learning rate: pi (1_{A*} - R). *)
Definition gradient_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n logits) else - total_on n correct (softmax n logits)).

(** Probability of a right answer. *)
Definition performance (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  0 < - entropy_change n logits (fun a => learning_rate * gradient_step n logits correct a) ->
  performance n (fun a => logits a + learning_rate * gradient_step n logits correct a + 8 * learning_rate * gradient_step n (fun b => logits b + learning_rate * gradient_step n logits correct b) correct a + 8 * learning_rate * gradient_step n (fun b => logits b + learning_rate * gradient_step n logits correct b + 8 * learning_rate * gradient_step n (fun c => logits c + learning_rate * gradient_step n logits correct c) correct b) correct a) correct * (exp (entropy n logits) - exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a))) <= performance n (fun a => logits a + learning_rate * gradient_step n logits correct a) correct * (exp (entropy n logits) - exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a))) + (performance n (fun a => logits a + learning_rate * gradient_step n logits correct a) correct - performance n logits correct) * (exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a)) - 1) + (exp (entropy n logits) - exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a))) / 20 /\
  performance n (fun a => logits a + learning_rate * gradient_step n logits correct a) correct * (exp (entropy n logits) - exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a))) + (performance n (fun a => logits a + learning_rate * gradient_step n logits correct a) correct - performance n logits correct) * (exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a)) - 1) <= exp (entropy n logits) - exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a)) + (exp (entropy n logits) - exp (entropy n (fun a => logits a + learning_rate * gradient_step n logits correct a))) / 20.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
