(* Generated from the formula of the claim aepo.asymmetry (AEPO, section 4.1 (Figure 2)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (temperature_high : R) (temperature_low : R),
  (2 <= n)%nat ->
  1 < temperature_high ->
  0 < temperature_low ->
  temperature_low < 1 ->
  1 - 1 / temperature_high <= 1 / temperature_low - 1 ->
  0 <= sum n (fun a => (softmax n (tempered temperature_low logits) a - softmax n logits a + (softmax n (tempered temperature_high logits) a - softmax n logits a)) * excess n logits a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (temperature_high : R) (temperature_low : R),
  (2 <= n)%nat ->
  1 < temperature_high ->
  0 < temperature_low ->
  temperature_low < 1 ->
  1 - 1 / temperature_high <= 1 / temperature_low - 1 ->
  temperature_low <> 0 /\
  temperature_high <> 0.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
