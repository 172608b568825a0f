From Coq Require Import Reals.
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

Definition untempered_rate (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** As printed, without F(1) < 0, it is false: with the weights (1, 3, 4) and the second answer correct,
    F(2) < F(1). *)
Definition printed_is_false : Prop :=
  ~ (forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
     (2 <= n)%nat -> nonempty n correct -> 0 < temperature ->
     0 < temperature - 1 ->
     0 <= rate n logits correct temperature - untempered_rate n logits correct).
