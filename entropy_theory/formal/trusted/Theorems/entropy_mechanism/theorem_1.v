From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (z : vector) : vector :=
  fun a => softmax n z a * centered n (softmax n z) z a.

(** c_a - C. *)
Definition excess (n : nat) (z : vector) : vector := centered n (softmax n z) (own_covariance n z).

(** F(T), and F(1) written without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

Definition printed_is_false : Prop :=
  ~ exists constant, forall (n h : nat) (z : policy) (reward : state -> R) (learning_rate : R) (s : state),
    (2 <= n)%nat -> 0 < learning_rate -> state_of n h s ->
    let step a := learning_rate * gradient_over_responses n h z reward s a in
    let rate := - covariance n (softmax n (z s)) (log_softmax n (z s))
      (fun a => softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a) in
    Rabs (entropy n (fun a => z s a + step a) - entropy n (z s) - learning_rate * rate)
      <= constant * sum n (fun a => step a * step a).
