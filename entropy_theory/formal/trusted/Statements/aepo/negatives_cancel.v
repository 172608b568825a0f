(* Generated from the formula of the claim aepo.negatives-cancel (AEPO, Section 6.2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 <= (temperature - 1) * total_on n correct (softmax n (tempered temperature logits)) * - mean n (softmax n (tempered temperature logits)) (excess n logits).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  temperature <> 0.
