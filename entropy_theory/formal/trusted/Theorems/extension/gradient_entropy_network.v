From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition any_parametrization : Prop :=
  forall (n d : nat) (logits : vector -> vector) (theta : vector) (jacobian : nat -> vector)
         (norm : R) (reward : vector),
    (1 <= n)%nat ->
    (forall a, (a < n)%nat -> 0 <= reward a <= 1) ->
    (forall a j, (a < n)%nat -> (j < d)%nat ->
       derivative (fun x => logits (set_entry theta j x) a) (theta j) (jacobian a j)) ->
    (forall x, euclidean d (fun j => sum n (fun a => jacobian a j * x a)) <= norm * euclidean n x) ->
    exists gradient : vector,
      (forall j, (j < d)%nat ->
         derivative (fun x => mean n (softmax n (logits (set_entry theta j x))) reward)
           (theta j) (gradient j))
      /\ euclidean d gradient <= norm * entropy n (logits theta) / (2 * sqrt 2 * ln 2).
