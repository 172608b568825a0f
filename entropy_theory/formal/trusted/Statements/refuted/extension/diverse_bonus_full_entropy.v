(* Generated from the formula of the claim extension.diverse-bonus-full-entropy (Extension: a bonus on the entropy among right answers). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** p, the probability of a right answer. *)
Definition right_mass (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** The policy given the kept set, zero elsewhere. *)
Definition renormalized (n : nat) (logits : vector) (inside : mask) : vector :=
  fun a => (if inside a then softmax n logits a else 0) / total_on n inside (softmax n logits).

(** S~, minus the gradient of the clamped entropy, zero elsewhere. *)
Definition clamped_tilt (n : nat) (logits : vector) (inside : mask) : vector :=
  fun a => renormalized n logits inside a * centered n (renormalized n logits inside) logits a.

(** The rate of the full entropy, sum_K S_a S~_a. *)
Definition rate (n : nat) (logits : vector) (inside : mask) : R :=
  sum n (fun a => own_covariance n logits a * clamped_tilt n logits inside a).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= right_mass n logits correct * rate n logits correct.

Definition renormalized_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  total_on n inside (softmax n logits) <> 0.

Definition clamped_tilt_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  renormalized_defined n logits inside a /\
  (forall b, (b < n)%nat -> renormalized_defined n logits inside b).

Definition rate_defined (n : nat) (logits : vector) (inside : mask) : Prop :=
  (forall a, (a < n)%nat -> clamped_tilt_defined n logits inside a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  rate_defined n logits correct.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
