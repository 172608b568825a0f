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

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= reward_rate n logits correct.

Definition renormalized_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  total_on n inside (softmax n logits) <> 0.

Definition reward_rate_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> renormalized_defined n logits correct a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  reward_rate_defined n logits correct.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
