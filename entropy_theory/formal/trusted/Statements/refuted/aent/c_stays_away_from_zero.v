(* Generated from the formula of the claim aent.c-stays-away-from-zero (AEnt, Section 3, after Proposition 1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The right responses: those of the largest return. *)
Definition is_right (n : nat) (reward : vector) : mask :=
  fun a => equal (reward a) (largest n reward).

(** C: the probability of the likeliest right answer. *)
Definition likeliest_right (n : nat) (logits : vector) (reward : vector) : R :=
  largest_on n (is_right n reward) (softmax n logits).

(** eta pi_a (R_a - V). *)
Definition gradient_step (n : nat) (logits : vector) (reward : vector) (learning_rate : R) : vector :=
  fun a => learning_rate * softmax n logits a * centered n (softmax n logits) reward a.

(** p: the probability of all right answers. *)
Definition right_mass (n : nat) (logits : vector) (reward : vector) : R :=
  total_on n (is_right n reward) (softmax n logits).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (learning_rate : R),
  (2 <= n)%nat ->
  0 < learning_rate ->
  likeliest_right n logits reward <= likeliest_right n (fun a => logits a + gradient_step n logits reward learning_rate a) reward /\
  right_mass n logits reward <= right_mass n (fun a => logits a + gradient_step n logits reward learning_rate a) reward /\
  0 <= total_on n (is_right n reward) (fun a => likeliest_right n logits reward - softmax n logits a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
