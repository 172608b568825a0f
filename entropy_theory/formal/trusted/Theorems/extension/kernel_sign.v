From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition table := nat -> vector.

(** The function f of the first d coordinates is differentiable at x, with the gradient g. *)
Definition has_gradient (d : nat) (f : vector -> R) (x g : vector) : Prop :=
  forall e, 0 < e -> exists r, 0 < r /\
  forall y, (forall i, (i < d)%nat -> Rabs (y i - x i) < r) ->
  Rabs (f y - f x - sum d (fun i => g i * (y i - x i))) <= e * sum d (fun i => Rabs (y i - x i)).

(** The kernel of the parametrization: how much a gradient step for one logit moves another. *)
Definition kernel (d : nat) (jacobian : nat -> nat -> vector) (s a s' a' : nat) : R :=
  sum d (fun i => jacobian s a i * jacobian s' a' i).

Definition total_table (m n : nat) (x : table) : R := sum m (fun s => sum n (fun a => x s a)).

Definition inner (m n : nat) (x y : table) : R := total_table m n (fun s a => x s a * y s a).

Definition table_norm (m n : nat) (x : table) : R := sqrt (inner m n x x).

Definition kernel_times (m n : nat) (K : nat -> nat -> nat -> nat -> R) (x : table) : table :=
  fun s a => total_table m n (fun s' a' => K s a s' a' * x s' a').

(** The gradient with respect to parameters, of what has the gradient g with respect to logits. *)
Definition pulled_back (m n : nat) (jacobian : nat -> nat -> vector) (g : table) : vector :=
  fun i => total_table m n (fun s a => jacobian s a i * g s a).

Definition any_parametrization : Prop :=
  forall (d m n : nat) (z : vector -> table) (theta : vector) (jacobian : nat -> table)
    (weight : vector) (g : table) (c k : R),
  (1 <= n)%nat ->
  (forall s a, (s < m)%nat -> (a < n)%nat -> has_gradient d (fun x => z x s a) theta (jacobian s a)) ->
  let K := kernel d jacobian in
  (forall x, table_norm m n (fun s a => kernel_times m n K x s a - c * x s a) <= k * table_norm m n x) ->
  let G := fun s a => weight s * entropy_gradient n (z theta s) a in
  let rate := inner m n G (kernel_times m n K g) in
  let tabular := inner m n G g in
  derivative (fun t => sum m (fun s => weight s
      * entropy n (z (fun i => theta i + t * pulled_back m n jacobian g i) s))) 0 rate
  /\ Rabs (rate - c * tabular) <= k * table_norm m n G * table_norm m n g
  /\ (k * table_norm m n G * table_norm m n g < c * Rabs tabular -> 0 < rate * tabular).
