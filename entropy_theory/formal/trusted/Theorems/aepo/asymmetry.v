From Coq Require Import Reals.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (z : vector) : vector :=
  fun a => softmax n z a * centered n (softmax n z) z a.

(** c_a - C. *)
Definition excess (n : nat) (z : vector) : vector := centered n (softmax n z) (own_covariance n z).

(** As printed, for any logits, it is false: with the weights (1, 4), T_high = 2 and T_low = 2/3, equally far from 1 in
    1/T, the increase is the larger one. *)
Definition printed_is_false : Prop :=
  ~ (forall (n : nat) (logits : vector) (temperature_high temperature_low : R),
     (2 <= n)%nat -> 0 < temperature_high -> 0 < temperature_low ->
     0 <= 1 / temperature_low - 1 - (1 - 1 / temperature_high) ->
     0 <= sum n (fun a =>
            (softmax n (tempered temperature_low logits) a - softmax n logits a
             + (softmax n (tempered temperature_high logits) a - softmax n logits a))
            * excess n logits a)).
