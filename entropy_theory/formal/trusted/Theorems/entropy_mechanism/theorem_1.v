From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

(** With two tokens and responses of two: no constant makes the error a multiple of eta^2. *)
Definition printed_is_false : Prop :=
  ~ exists constant, forall (z : policy) (reward : state -> R) (learning_rate : R) (s : state),
    0 < learning_rate -> state_of 2 2 s ->
    let step a := learning_rate * gradient_over_responses 2 2 z reward s a in
    let rate := - covariance 2 (softmax 2 (z s)) (log_softmax 2 (z s))
      (fun a => softmax 2 (z s) a * advantage_at 2 2 z (edge_reward 2 reward) s a) in
    Rabs (entropy 2 (fun a => z s a + step a) - entropy 2 (z s) - learning_rate * rate)
      <= constant * sum 2 (fun a => step a * step a).
