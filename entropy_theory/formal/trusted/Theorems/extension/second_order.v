From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The second derivative of entropy along d. *)
Definition quadratic_form (n : nat) (z d : vector) : R :=
  let p := softmax n z in
  - mean n p (fun a => centered n p d a * centered n p d a)
  - covariance n p z (fun a => centered n p d a * centered n p d a).

(** The quadratic form, written as one expectation. *)
Definition as_one_expectation : Prop :=
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  quadratic_form n logits step
  = - mean n (softmax n logits) (fun a =>
        (1 + log_softmax n logits a + entropy n logits)
        * (centered n (softmax n logits) step a * centered n (softmax n logits) step a)).
