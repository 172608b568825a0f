From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** As printed it fails for the uniform policy of two actions, the first right, at learning rate 1. *)
Definition printed_is_false : Prop :=
  ~ forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
    (2 <= n)%nat -> nonempty n correct -> 0 < learning_rate ->
    let p := softmax n logits in
    let step := fun a => learning_rate * (only correct p a - total_on n correct p * p a) in
    entropy n (moved_by logits step) - entropy n logits + covariance n p (log_softmax n logits) step = 0.
