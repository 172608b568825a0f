(** What the theorems beside extension.gradient_entropy_network suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import gradient_entropy_network.
Open Scope R_scope.

Definition any_parametrization_witness : Prop :=
  exists (n : nat) (d : nat) (logits : vector -> vector) (theta : vector) (jacobian : nat -> vector) (norm : R) (reward : vector),
  (1 <= n)%nat /\
  (forall a, (a < n)%nat -> 0 <= reward a <= 1) /\
  (forall a j, (a < n)%nat -> (j < d)%nat -> derivative (fun x => logits (set_entry theta j x) a) (theta j) (jacobian a j)) /\
  (forall x, euclidean d (fun j => sum n (fun a => jacobian a j * x a)) <= norm * euclidean n x).

Definition any_parametrization_defined : Prop :=
  forall (n : nat) (d : nat) (logits : vector -> vector) (theta : vector) (jacobian : nat -> vector) (norm : R) (reward : vector),
  (1 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a <= 1) ->
  (forall a j, (a < n)%nat -> (j < d)%nat -> derivative (fun x => logits (set_entry theta j x) a) (theta j) (jacobian a j)) ->
  (forall x, euclidean d (fun j => sum n (fun a => jacobian a j * x a)) <= norm * euclidean n x) ->
  2 * sqrt 2 * ln 2 <> 0.
