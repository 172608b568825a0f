(* Generated from the formula of the claim aepo.finite-step (AEPO, Theorem 4.3 and Corollary 4.4, for the exact change of entropy). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature. *)
Definition rate_without_temperature (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step_without_temperature (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  1 < temperature ->
  0 < - rate_without_temperature n logits correct ->
  entropy_change n logits (fun a => learning_rate * unit_step_without_temperature n logits correct a) <= entropy_change n logits (fun a => learning_rate * unit_step n logits correct temperature a).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  1 < temperature ->
  0 < - rate_without_temperature n logits correct ->
  (forall a, (a < n)%nat -> unit_step_defined n logits correct temperature a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
