From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition gradient_of_regularized_value : Prop :=
  forall (n h m : nat) (z : nat -> policy) (reward : nat -> state -> R) (coefficient : R)
         (prompt : nat) (s : state) (a : nat),
  (2 <= n)%nat -> (1 <= h)%nat -> (prompt < m)%nat -> state_of n h s -> (a < n)%nat ->
  derivative
    (fun x => sum m (fun q =>
       value_with_entropy n h (if Nat.eqb q prompt then set_logit (z q) s a x else z q)
         (reward q) coefficient) / INR m)
    (z prompt s a)
    (probability n (z prompt) s * (softmax n (z prompt s) a *
       advantage_at n h (z prompt)
         (edge_with_entropy n h (z prompt) (reward prompt) coefficient) s a) / INR m).
