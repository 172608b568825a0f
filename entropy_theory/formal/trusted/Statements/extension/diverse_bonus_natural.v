(* Generated from the formula of the claim extension.diverse-bonus-natural (Extension: a bonus on the entropy among right answers). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The policy given the kept set, zero elsewhere. *)
Definition renormalized (n : nat) (logits : vector) (inside : mask) : vector :=
  fun a => (if inside a then softmax n logits a else 0) / total_on n inside (softmax n logits).

(** H(q), the entropy of the policy given a right answer. *)
Definition diversity (n : nat) (logits : vector) (correct : mask) : R :=
  ln (total_on n correct (fun a => exp (if correct a then logits a - largest_on n correct logits else 0))) - mean n (renormalized n logits correct) (fun a => if correct a then logits a - largest_on n correct logits else 0).

(** x_a = -(log q_a + H(q)) at right answers, zero elsewhere. *)
Definition surprise (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then - centered n (renormalized n logits correct) logits a else 0.

(** c x_a. *)
Definition natural_step (n : nat) (logits : vector) (correct : mask) (strength : R) : vector :=
  fun a => strength * surprise n logits correct a.

(** E_q e^{c x}: by what the odds of a right answer are multiplied. *)
Definition odds_growth (n : nat) (logits : vector) (correct : mask) (strength : R) : R :=
  mean n (renormalized n logits correct) (fun a => exp (natural_step n logits correct strength a)).

(** p, the probability of a right answer. *)
Definition right_mass (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** Var_q(log q). *)
Definition spread (n : nat) (logits : vector) (correct : mask) : R :=
  covariance n (renormalized n logits correct) logits logits.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (strength : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < strength ->
  strength <= 1 ->
  (diversity n logits correct <= diversity n (fun a => logits a + natural_step n logits correct strength a) correct /\
  1 <= odds_growth n logits correct strength) /\
  right_mass n (fun a => logits a + natural_step n logits correct strength a) correct = right_mass n logits correct * odds_growth n logits correct strength / (1 - right_mass n logits correct + right_mass n logits correct * odds_growth n logits correct strength) /\
  derivative (fun t => right_mass n (fun a => logits a + t * surprise n logits correct a) correct) (0) (0) /\
  derivative (fun t => diversity n (fun a => logits a + t * surprise n logits correct a) correct) (0) (spread n logits correct) /\
  derivative (fun t => entropy n (fun a => logits a + t * surprise n logits correct a)) (0) (right_mass n logits correct * spread n logits correct).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (strength : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < strength /\
  strength <= 1.

Definition renormalized_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  total_on n inside (softmax n logits) <> 0.

Definition surprise_defined (n : nat) (logits : vector) (correct : mask) (a : nat) : Prop :=
  ((correct a = true) -> forall b, (b < n)%nat -> renormalized_defined n logits correct b).

Definition natural_step_defined (n : nat) (logits : vector) (correct : mask) (strength : R) (a : nat) : Prop :=
  surprise_defined n logits correct a.

Definition diversity_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  0 < total_on n correct (fun a => exp (if correct a then logits a - largest_on n correct logits else 0)) /\
  (forall a, (a < n)%nat -> renormalized_defined n logits correct a).

Definition odds_growth_defined (n : nat) (logits : vector) (correct : mask) (strength : R) : Prop :=
  (forall a, (a < n)%nat -> renormalized_defined n logits correct a) /\
  (forall a, (a < n)%nat -> natural_step_defined n logits correct strength a).

Definition spread_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> renormalized_defined n logits correct a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (strength : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < strength ->
  strength <= 1 ->
  (forall a, (a < n)%nat -> natural_step_defined n logits correct strength a) /\
  diversity_defined n (fun a => logits a + natural_step n logits correct strength a) correct /\
  diversity_defined n logits correct /\
  odds_growth_defined n logits correct strength /\
  1 - right_mass n logits correct + right_mass n logits correct * odds_growth n logits correct strength <> 0 /\
  (forall a, (a < n)%nat -> surprise_defined n logits correct a) /\
  (forall t : R, t = 0 -> diversity_defined n (fun a => logits a + t * surprise n logits correct a) correct) /\
  spread_defined n logits correct.
