(** What the theorems beside extension.kernel_sign suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import kernel_sign.
Open Scope R_scope.

Definition any_parametrization_witness : Prop :=
  exists (d : nat) (m : nat) (n : nat) (z : vector -> table) (theta : vector) (jacobian : nat -> table) (weight : vector) (g : table) (c : R) (k : R),
  (1 <= n)%nat /\
  (forall s a, (s < m)%nat -> (a < n)%nat -> has_gradient d (fun x => z x s a) theta (jacobian s a)) /\
  let K := kernel d jacobian in
  (forall x, table_norm m n (fun s a => kernel_times m n K x s a - c * x s a) <= k * table_norm m n x) /\
  let G := fun s a => weight s * entropy_gradient n (z theta s) a in
  let tabular := inner m n G g in
  k * table_norm m n G * table_norm m n g < c * Rabs tabular.

Definition table_norm_defined (m : nat) (n : nat) (x : table) : Prop :=
  0 <= inner m n x x.

Definition any_parametrization_defined : Prop :=
  forall (d : nat) (m : nat) (n : nat) (z : vector -> table) (theta : vector) (jacobian : nat -> table) (weight : vector) (g : table) (c : R) (k : R),
  (1 <= n)%nat ->
  (forall s a, (s < m)%nat -> (a < n)%nat -> has_gradient d (fun x => z x s a) theta (jacobian s a)) ->
  let K := kernel d jacobian in
  (forall x,
  table_norm_defined m n (fun s a => kernel_times m n K x s a - c * x s a) /\
  table_norm_defined m n x) /\
  ((forall x, table_norm m n (fun s a => kernel_times m n K x s a - c * x s a) <= k * table_norm m n x) ->
  let G := fun s a => weight s * entropy_gradient n (z theta s) a in
  table_norm_defined m n G /\
  table_norm_defined m n g).
