(* Generated from the formula of the claim aepo.theorem-4.3b (AEPO, Theorem 4.3, second part (Lemma B.5)). *)

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

(** T^2 F'(T); F'(1) without a temperature. *)
Definition scaled_slope_without_temperature (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => softmax n logits a * centered n (softmax n logits) logits a * excess n logits a).

(** F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < - rate_without_temperature n logits correct ->
  0 < scaled_slope_without_temperature n logits correct /\
  derivative (fun t => rate n logits correct t) (1) (scaled_slope_without_temperature n logits correct).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < - rate_without_temperature n logits correct.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < - rate_without_temperature n logits correct ->
  (forall t : R, t = 1 -> rate_defined n logits correct t).
