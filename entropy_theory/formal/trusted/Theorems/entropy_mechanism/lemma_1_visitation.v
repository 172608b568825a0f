From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition printed_is_false : Prop :=
  ~ forall (n h : nat) (z : policy) (step : state -> vector),
    (2 <= n)%nat -> (1 <= h)%nat ->
    derivative (fun t => response_entropy n h (moved z t step)) 0
      (sum_states n h (fun s => probability n z s *
         - covariance n (softmax n (z s)) (log_softmax n (z s)) (step s))).
