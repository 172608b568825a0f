(* Generated from the formula of the claim extension.level-set-one-coefficient (Extension: a bonus on the entropy among right answers). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The policy given the kept set, zero elsewhere. *)
Definition renormalized (n : nat) (logits : vector) (inside : mask) : vector :=
  fun a => (if inside a then softmax n logits a else 0) / total_on n inside (softmax n logits).

(** x_a = -(log q_a + H(q)) at right answers, zero elsewhere. *)
Definition surprise (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then - centered n (renormalized n logits correct) logits a else 0.

(** d_a = pi_a x_a, the step of the plain gradient. *)
Definition diverse_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * surprise n logits correct a.

(** <h, b>, what a unit of the bonus adds to the full entropy. *)
Definition entropy_of_bonus (n : nat) (logits : vector) (correct : mask) : R :=
  sum n (fun a => entropy_gradient n logits a * diverse_step n logits correct a).

(** p, the probability of a right answer. *)
Definition right_mass (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** g, the gradient of p: pi_a (1 - p) at right answers, -pi_a p at wrong ones. *)
Definition right_gradient (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * (if correct a then right_mass n logits (fun b => negb (correct b)) else - right_mass n logits correct).

(** |g|^2, the reward's rate along its gradient. *)
Definition learning (n : nat) (logits : vector) (correct : mask) : R :=
  sum n (fun a => right_gradient n logits correct a * right_gradient n logits correct a).

(** <h, g>, the entropy's rate along the reward's gradient. *)
Definition entropy_of_learning (n : nat) (logits : vector) (correct : mask) : R :=
  sum n (fun a => entropy_gradient n logits a * right_gradient n logits correct a).

(** <g, b>, what a unit of the bonus adds to the reward: a price, never positive. *)
Definition reward_of_bonus (n : nat) (logits : vector) (correct : mask) : R :=
  sum n (fun a => right_gradient n logits correct a * diverse_step n logits correct a).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (other : vector),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < entropy_of_bonus n logits correct + entropy_of_bonus n other correct ->
  (entropy_of_learning n logits correct + entropy_of_learning n other correct) * (reward_of_bonus n logits correct + reward_of_bonus n other correct) <= (learning n logits correct + learning n other correct) * (entropy_of_bonus n logits correct + entropy_of_bonus n other correct).

Definition renormalized_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  total_on n inside (softmax n logits) <> 0.

Definition surprise_defined (n : nat) (logits : vector) (correct : mask) (a : nat) : Prop :=
  ((correct a = true) -> forall b, (b < n)%nat -> renormalized_defined n logits correct b).

Definition diverse_step_defined (n : nat) (logits : vector) (correct : mask) (a : nat) : Prop :=
  surprise_defined n logits correct a.

Definition entropy_of_bonus_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> diverse_step_defined n logits correct a).

Definition reward_of_bonus_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> diverse_step_defined n logits correct a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (other : vector),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < entropy_of_bonus n logits correct + entropy_of_bonus n other correct ->
  entropy_of_bonus_defined n logits correct /\
  entropy_of_bonus_defined n other correct /\
  reward_of_bonus_defined n logits correct /\
  reward_of_bonus_defined n other correct.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
