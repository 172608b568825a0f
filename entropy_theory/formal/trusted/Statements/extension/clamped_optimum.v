(* Generated from the formula of the claim extension.clamped-optimum (Extension of AEnt, Section 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The entropy of the policy renormalized on the kept set. *)
Definition kept_entropy (n : nat) (logits : vector) (kept : mask) : R :=
  ln (total_on n kept (softmax n logits)) - total_on n kept (fun a => softmax n logits a * log_softmax n logits a) / total_on n kept (softmax n logits).

(** B, the value that softmax(r/lambda) on these tokens gives away; one right answer or more exists. *)
Definition bias (n_tokens : R) (n_right : R) (coefficient : R) : R :=
  (n_tokens - n_right) / (n_right * exp (1 / coefficient) + (n_tokens - n_right)).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < coefficient ->
  0 < removed_fraction ->
  removed_fraction < 1 ->
  total_on n correct (softmax n logits) + coefficient * kept_entropy n logits (fun a => kept_tokens n logits removed_fraction a) <= coefficient * ln (Rmin (total_on n correct (fun a => 1)) (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) * exp (1 / coefficient) + total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1) - Rmin (total_on n correct (fun a => 1)) (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1))) /\
  bias (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (Rmin (total_on n correct (fun a => 1)) (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1))) coefficient <= bias (INR n) (total_on n correct (fun a => 1)) coefficient.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < coefficient /\
  0 < removed_fraction /\
  removed_fraction < 1.

Definition kept_entropy_defined (n : nat) (logits : vector) (kept : mask) : Prop :=
  0 < total_on n kept (softmax n logits) /\
  total_on n kept (softmax n logits) <> 0.

Definition bias_defined (n_tokens : R) (n_right : R) (coefficient : R) : Prop :=
  coefficient <> 0 /\
  n_right * exp (1 / coefficient) + (n_tokens - n_right) <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < coefficient ->
  0 < removed_fraction ->
  removed_fraction < 1 ->
  coefficient <> 0 /\
  0 < (Rmin (total_on n correct (fun a => 1)) (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) * exp (1 / coefficient) + total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1) - Rmin (total_on n correct (fun a => 1)) (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1))) /\
  kept_entropy_defined n logits (fun a => kept_tokens n logits removed_fraction a) /\
  bias_defined (INR n) (total_on n correct (fun a => 1)) coefficient /\
  bias_defined (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (Rmin (total_on n correct (fun a => 1)) (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1))) coefficient.
