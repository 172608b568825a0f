(* Generated from the formula of the claim later-work.scope-rl-negatives (SCOPE-RL (arXiv 2510.08141v7; before: AEPO), the temperature-sign asymmetry). *)

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

(** F-(T) = sum_{wrong} pi^T_a (c_a - C); F-(1) without a temperature. *)
Definition rate_of_hot_negatives_without_temperature (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (fun a => softmax n logits a * excess n logits a).

(** F-(T) = sum_{wrong} pi^T_a (c_a - C); F-(1) without a temperature. *)
Definition rate_of_hot_negatives (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  total_on n (fun a => negb (correct a)) (fun a => softmax n (tempered temperature logits) a * excess n logits a).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 < temperature ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 < - rate_without_temperature n logits correct ->
  rate_of_hot_negatives n logits correct temperature <= rate_of_hot_negatives_without_temperature n logits correct.

Definition rate_of_hot_negatives_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 < temperature ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 < - rate_without_temperature n logits correct ->
  rate_of_hot_negatives_defined n logits correct temperature.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
