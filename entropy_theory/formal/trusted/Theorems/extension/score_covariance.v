From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The function f of the first d coordinates is differentiable at x, with the gradient g. *)
Definition has_gradient (d : nat) (f : vector -> R) (x g : vector) : Prop :=
  forall e, 0 < e -> exists r, 0 < r /\
  forall y, (forall i, (i < d)%nat -> Rabs (y i - x i) < r) ->
  Rabs (f y - f x - sum d (fun i => g i * (y i - x i))) <= e * sum d (fun i => Rabs (y i - x i)).

Definition any_parametrization : Prop :=
  forall (d n : nat) (z : vector -> vector) (score : nat -> vector)
    (theta : R -> vector) (time : R) (velocity : vector),
  (1 <= n)%nat ->
  (forall a, (a < n)%nat ->
    has_gradient d (fun x => log_softmax n (z x) a) (theta time) (score a)) ->
  (forall i, (i < d)%nat -> derivative (fun t => theta t i) time (velocity i)) ->
  derivative (fun t => entropy n (z (theta t))) time
    (- covariance n (softmax n (z (theta time))) (log_softmax n (z (theta time)))
         (fun a => sum d (fun i => score a i * velocity i))).
