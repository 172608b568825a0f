(* Generated from the formula of the claim extension.clamped-bonus (Extension of AEnt, section 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

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

(** The kept set: pi_a >= floor max pi. *)
Definition top_set (n : nat) (logits : vector) (floor : R) : mask :=
  fun a => negb (less (logits a) (largest n logits + ln floor)).

(** The entropy of the policy given the kept set. *)
Definition clamped_entropy (n : nat) (logits : vector) (inside : mask) : R :=
  - total_on n inside (fun a => renormalized n logits inside a * ln (renormalized n logits inside a)).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (floor : R),
  (2 <= n)%nat ->
  0 < floor ->
  floor <= 1 ->
  0 <= rate n logits (top_set n logits floor) /\
  (forall direction : vector, (derivative (fun t => clamped_entropy n (fun a => logits a + t * direction a) (top_set n logits floor)) (0) (- sum n (fun a => clamped_tilt n logits (top_set n logits floor) a * direction a)))) /\
  derivative (fun t => entropy n (fun a => logits a - t * clamped_tilt n logits (top_set n logits floor) a)) (0) (rate n logits (top_set n logits floor)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (floor : R),
  (2 <= n)%nat /\
  0 < floor /\
  floor <= 1.

Definition top_set_defined (n : nat) (logits : vector) (floor : R) (a : nat) : Prop :=
  0 < floor.

Definition renormalized_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  total_on n inside (softmax n logits) <> 0.

Definition clamped_tilt_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  renormalized_defined n logits inside a /\
  (forall b, (b < n)%nat -> renormalized_defined n logits inside b).

Definition rate_defined (n : nat) (logits : vector) (inside : mask) : Prop :=
  (forall a, (a < n)%nat -> clamped_tilt_defined n logits inside a).

Definition clamped_entropy_defined (n : nat) (logits : vector) (inside : mask) : Prop :=
  (forall a, (a < n)%nat -> (inside a = true) -> renormalized_defined n logits inside a) /\
  (forall a, (a < n)%nat -> (inside a = true) -> 0 < renormalized n logits inside a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (floor : R),
  (2 <= n)%nat ->
  0 < floor ->
  floor <= 1 ->
  (forall a, (a < n)%nat -> top_set_defined n logits floor a) /\
  rate_defined n logits (top_set n logits floor) /\
  (forall direction : vector, forall t : R, t = 0 -> clamped_entropy_defined n (fun a => logits a + t * direction a) (top_set n logits floor)) /\
  (forall b, (b < n)%nat -> top_set_defined n logits floor b) /\
  (forall a, (a < n)%nat -> clamped_tilt_defined n logits (top_set n logits floor) a).
