(* Generated from the formula of the claim aent.adaptive-coefficient (AEnt, Section 4.2, Eq. 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** H of softmax(x r). *)
Definition sharpened_entropy (n : nat) (correct : mask) (sharpness : R) : R :=
  entropy n (fun a => sharpness * (if correct a then 1 else 0)).

(** f(H): above zero below the band, below zero above it. *)
Definition force (entropy_ : R) (low : R) (high : R) : R :=
  Rmax (low - entropy_) 0 - Rmax (entropy_ - high) 0.

(** g(x) of the vanilla gradient: n p (1 - p)/(m (n - m)). *)
Definition vanilla_speed (n : nat) (correct : mask) (sharpness : R) : R :=
  INR n * total_on n correct (softmax n (fun b => sharpness * (if correct b then 1 else 0))) * (1 - total_on n correct (softmax n (fun b => sharpness * (if correct b then 1 else 0)))) / (sum n (fun a => if correct a then 1 else 0) * (INR n - sum n (fun a => if correct a then 1 else 0))).

Definition repair : Prop :=
  forall (n : nat) (correct : mask) (low : R) (high : R) (least : R) (most : R) (gain : R) (sharpness : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < low ->
  0 < high ->
  0 < least ->
  0 < most ->
  0 < gain ->
  0 < sharpness ->
  low < high ->
  least < most ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  low < sharpened_entropy n correct (1 / most) ->
  sharpened_entropy n correct (1 / least) < high ->
  gain * Rmax (force (sharpened_entropy n correct sharpness) low high) 0 * sharpness * (1 - most * sharpness) <= most * (1 - most * sharpness) * (1 - most * sharpness) /\
  gain * Rmax (force (sharpened_entropy n correct sharpness) low high) 0 * sharpness * (1 - most * sharpness) <= most * vanilla_speed n correct sharpness * (1 - most * sharpness) * (1 - most * sharpness) /\
  gain * Rmin (force (sharpened_entropy n correct sharpness) low high) 0 * sharpness * (1 - least * sharpness) <= least * (1 - least * sharpness) * (1 - least * sharpness) /\
  gain * Rmin (force (sharpened_entropy n correct sharpness) low high) 0 * sharpness * (1 - least * sharpness) <= least * vanilla_speed n correct sharpness * (1 - least * sharpness) * (1 - least * sharpness).

Definition witness : Prop :=
  exists (n : nat) (correct : mask) (low : R) (high : R) (least : R) (most : R) (gain : R) (sharpness : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < low /\
  0 < high /\
  0 < least /\
  0 < most /\
  0 < gain /\
  0 < sharpness /\
  low < high /\
  least < most /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  low < sharpened_entropy n correct (1 / most) /\
  sharpened_entropy n correct (1 / least) < high.

Definition vanilla_speed_defined (n : nat) (correct : mask) (sharpness : R) : Prop :=
  sum n (fun a => if correct a then 1 else 0) * (INR n - sum n (fun a => if correct a then 1 else 0)) <> 0.

Definition defined : Prop :=
  forall (n : nat) (correct : mask) (low : R) (high : R) (least : R) (most : R) (gain : R) (sharpness : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < low ->
  0 < high ->
  0 < least ->
  0 < most ->
  0 < gain ->
  0 < sharpness ->
  low < high ->
  least < most ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  low < sharpened_entropy n correct (1 / most) ->
  sharpened_entropy n correct (1 / least) < high ->
  most <> 0 /\
  least <> 0 /\
  vanilla_speed_defined n correct sharpness.
