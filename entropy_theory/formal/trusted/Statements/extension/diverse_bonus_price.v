(* Generated from the formula of the claim extension.diverse-bonus-price (Extension: a bonus on the entropy among right answers). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** p, the probability of a right answer. *)
Definition right_mass (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** The policy given the kept set, zero elsewhere. *)
Definition renormalized (n : nat) (logits : vector) (inside : mask) : vector :=
  fun a => (if inside a then softmax n logits a else 0) / total_on n inside (softmax n logits).

(** What the step adds to p: -(1 - p) p^2 Cov_q(q, log q). *)
Definition reward_rate (n : nat) (logits : vector) (correct : mask) : R :=
  - right_mass n logits (fun a => negb (correct a)) * right_mass n logits correct * right_mass n logits correct * covariance n (renormalized n logits correct) (renormalized n logits correct) logits.

(** H(q), the entropy of the policy given a right answer. *)
Definition diversity (n : nat) (logits : vector) (correct : mask) : R :=
  ln (total_on n correct (fun a => exp (if correct a then logits a - largest_on n correct logits else 0))) - mean n (renormalized n logits correct) (fun a => if correct a then logits a - largest_on n correct logits else 0).

(** x_a = -(log q_a + H(q)) at right answers, zero elsewhere. *)
Definition surprise (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then - centered n (renormalized n logits correct) logits a else 0.

(** d_a = pi_a x_a, the step of the plain gradient. *)
Definition diverse_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * surprise n logits correct a.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (0 <= - reward_rate n logits correct /\
  - reward_rate n logits correct <= right_mass n logits (fun a => negb (correct a)) * right_mass n logits correct * right_mass n logits correct * diversity n logits correct) /\
  derivative (fun t => right_mass n (fun a => logits a + t * diverse_step n logits correct a) correct) (0) (reward_rate n logits correct) /\
  ((reward_rate n logits correct = 0) -> (largest_on n correct logits = smallest_on n correct logits) \/ (forall a, (a < n)%nat -> correct a = true)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (reward_rate n logits correct = 0).

Definition renormalized_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  total_on n inside (softmax n logits) <> 0.

Definition reward_rate_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> renormalized_defined n logits correct a).

Definition diversity_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  0 < total_on n correct (fun a => exp (if correct a then logits a - largest_on n correct logits else 0)) /\
  (forall a, (a < n)%nat -> renormalized_defined n logits correct a).

Definition surprise_defined (n : nat) (logits : vector) (correct : mask) (a : nat) : Prop :=
  ((correct a = true) -> forall b, (b < n)%nat -> renormalized_defined n logits correct b).

Definition diverse_step_defined (n : nat) (logits : vector) (correct : mask) (a : nat) : Prop :=
  surprise_defined n logits correct a.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  reward_rate_defined n logits correct /\
  diversity_defined n logits correct /\
  (forall a, (a < n)%nat -> diverse_step_defined n logits correct a).
