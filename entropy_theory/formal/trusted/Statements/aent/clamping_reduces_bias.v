(* Generated from the formula of the claim aent.clamping-reduces-bias (AEnt, Section 1 ('enjoys decreased bias'), without Section 4.1's 'denser optimality'). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** B, the value that softmax(r/lambda) on these tokens gives away; one right answer or more exists. *)
Definition bias (n_tokens : R) (n_right : R) (coefficient : R) : R :=
  (n_tokens - n_right) / (n_right * exp (1 / coefficient) + (n_tokens - n_right)).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < coefficient ->
  0 < removed_fraction ->
  removed_fraction < 1 ->
  0 <= (bias (INR n) (total_on n correct (fun a => 1)) coefficient - bias (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient) * (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1) * INR n - total_on n correct (fun a => 1) * total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) /\
  ((bias (INR n) (total_on n correct (fun a => 1)) coefficient - bias (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient = 0) -> total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1) * INR n - total_on n correct (fun a => 1) * total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1) = 0) /\
  ((total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1) * INR n - total_on n correct (fun a => 1) * total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1) = 0) -> bias (INR n) (total_on n correct (fun a => 1)) coefficient - bias (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient = 0) /\
  ((forall a, (a < n)%nat -> (~ (correct a = true)) \/ (kept_tokens n logits removed_fraction a = true)) -> 0 <= bias (INR n) (total_on n correct (fun a => 1)) coefficient - bias (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < coefficient /\
  0 < removed_fraction /\
  removed_fraction < 1.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < coefficient /\
  0 < removed_fraction /\
  removed_fraction < 1 /\
  (bias (INR n) (total_on n correct (fun a => 1)) coefficient - bias (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient = 0).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < coefficient /\
  0 < removed_fraction /\
  removed_fraction < 1 /\
  (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1) * INR n - total_on n correct (fun a => 1) * total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1) = 0).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < coefficient /\
  0 < removed_fraction /\
  removed_fraction < 1 /\
  (forall a, (a < n)%nat -> (~ (correct a = true)) \/ (kept_tokens n logits removed_fraction a = true)).

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
  bias_defined (INR n) (total_on n correct (fun a => 1)) coefficient /\
  bias_defined (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient /\
  ((total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1) * INR n - total_on n correct (fun a => 1) * total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1) = 0) -> bias_defined (INR n) (total_on n correct (fun a => 1)) coefficient) /\
  ((total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1) * INR n - total_on n correct (fun a => 1) * total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1) = 0) -> bias_defined (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient) /\
  ((forall a, (a < n)%nat -> (~ (correct a = true)) \/ (kept_tokens n logits removed_fraction a = true)) -> bias_defined (INR n) (total_on n correct (fun a => 1)) coefficient) /\
  ((forall a, (a < n)%nat -> (~ (correct a = true)) \/ (kept_tokens n logits removed_fraction a = true)) -> bias_defined (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient).
