(* Generated from the formula of the claim extension.global-tempering (Extension of AEPO, Theorem 4.3). *)

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
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (factor : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  1 < factor ->
  0 < rate n logits correct temperature ->
  0 < rate n logits correct (temperature * factor).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (factor : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  1 < factor /\
  0 < rate n logits correct temperature.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (factor : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  1 < factor ->
  0 < rate n logits correct temperature ->
  rate_defined n logits correct temperature /\
  rate_defined n logits correct (temperature * factor).
