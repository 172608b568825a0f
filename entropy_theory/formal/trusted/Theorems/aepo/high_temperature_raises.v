From Coq Require Import Reals Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (z : vector) : vector :=
  fun a => softmax n z a * centered n (softmax n z) z a.

(** c_a - C. *)
Definition excess (n : nat) (z : vector) : vector := centered n (softmax n z) (own_covariance n z).

(** F(T), and F(1) written without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

(** As printed it is false: with the weights (1, 2) and the likelier answer correct, F(T) < 0 at every T. *)
Definition printed_is_false : Prop :=
  ~ (forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
     (2 <= n)%nat -> nonempty n correct -> 0 < temperature ->
     0 < temperature - 1 -> 0 <= rate n logits correct temperature).
