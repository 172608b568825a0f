(* Generated from the formula of the claim extension.global-slope (Extension of AEPO, Theorem 4.3). *)

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

(** z+ = max(zb, max{z_a : c_a < C}). *)
Definition threshold (n : nat) (logits : vector) : R :=
  largest n (fun a => if less (excess n logits a) 0 then logits a else mean n (softmax n logits) logits).

(** S, what T^2 F'(T) is above (z+ - E_T z)|F(T)|: a sum in which nothing cancels. *)
Definition surplus (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  total_on n correct (fun a => softmax n (tempered temperature logits) a * (logits a - threshold n logits) * excess n logits a).

(** T^2 F'(T); F'(1) without a temperature. *)
Definition scaled_slope (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  total_on n correct (fun a => softmax n (tempered temperature logits) a * centered n (softmax n (tempered temperature logits)) logits a * excess n logits a).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 <= temperature ->
  0 < - rate n logits correct temperature ->
  (0 < surplus n logits correct temperature /\
  0 < scaled_slope n logits correct temperature) /\
  derivative (fun t => rate n logits correct t) (temperature) (scaled_slope n logits correct temperature / temperature ^ 2) /\
  (threshold n logits - mean n (softmax n (tempered temperature logits)) logits) * - rate n logits correct temperature < scaled_slope n logits correct temperature /\
  0 <= (threshold n logits - mean n (softmax n (tempered temperature logits)) logits) * - rate n logits correct temperature.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 <= temperature /\
  0 < - rate n logits correct temperature.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition surplus_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition scaled_slope_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 <= temperature ->
  0 < - rate n logits correct temperature ->
  rate_defined n logits correct temperature /\
  surplus_defined n logits correct temperature /\
  scaled_slope_defined n logits correct temperature /\
  (forall t : R, t = temperature -> rate_defined n logits correct t) /\
  temperature ^ 2 <> 0 /\
  temperature <> 0.
