(** What the theorems beside aent.adaptive_coefficient suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.aent Require Import adaptive_coefficient.
Open Scope R_scope.

Definition speed_of_vanilla_gradient_witness : Prop :=
  exists (n : nat) (correct : mask),
  (0 < n)%nat /\
  nonempty n correct /\
  nonempty n (complement correct) /\
  exists (a : nat) (b : nat),
  (a < n)%nat /\
  (b < n)%nat /\
  correct a = true /\
  correct b = false.

Definition vanilla_defined (n : nat) (correct : mask) (x : R) : Prop :=
  count_on n correct * (INR n - count_on n correct) <> 0.

Definition speed_of_vanilla_gradient_defined : Prop :=
  forall (n : nat) (correct : mask),
  (0 < n)%nat ->
  nonempty n correct ->
  nonempty n (complement correct) ->
  forall (x : R) (a : nat) (b : nat),
  (a < n)%nat ->
  (b < n)%nat ->
  correct a = true ->
  correct b = false ->
  vanilla_defined n correct x.

Definition energy_falls_witness : Prop :=
  exists (n : nat) (correct : mask) (low : R) (high : R) (least : R) (most : R) (gain : R) (g : R -> R) (potential : R -> R) (x : R -> R) (lambda : R -> R) (t : R) (s : R),
  (1 <= n)%nat /\
  0 < least /\
  0 < gain /\
  low < high /\
  least <= most /\
  low <= sharpened_entropy n correct (1 / most) /\
  sharpened_entropy n correct (1 / least) <= high /\
  (forall y, 0 < y -> 0 < g y) /\
  (forall y, 0 < y -> derivative potential y (force low high (sharpened_entropy n correct y) * y / g y)) /\
  let u r := 1 - lambda r * x r in
  let pull := force low high (sharpened_entropy n correct (x t)) in
  0 < x t /\
  least <= lambda t <= most /\
  derivative x t (g (x t) * u t) /\
  derivative lambda t s /\
  (s = gain * pull \/ (s = 0 /\ (lambda t = most /\ 0 <= pull \/ lambda t = least /\ pull <= 0))).

Definition energy_falls_defined : Prop :=
  forall (n : nat) (correct : mask) (low : R) (high : R) (least : R) (most : R) (gain : R) (g : R -> R),
  (1 <= n)%nat ->
  0 < least ->
  0 < gain ->
  low < high ->
  least <= most ->
  most <> 0 /\
  (low <= sharpened_entropy n correct (1 / most) ->
  least <> 0 /\
  (sharpened_entropy n correct (1 / least) <= high ->
  (forall y, 0 < y -> 0 < g y) ->
  forall y,
  0 < y ->
  g y <> 0)).
