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

(** q^T: pi^T given that the action is one of the chosen. *)
Definition tempered_conditional (n : nat) (logits : vector) (chosen : mask) (temperature : R) : vector :=
  fun a =>
    only chosen (softmax n (tempered temperature logits)) a
    / total_on n chosen (softmax n (tempered temperature logits)).

(** G(T) = -Cov_pi(z, q^T - pi), as in [entropy_theory/claims/aepo/fixed_positives.py]. *)
Definition fixed_rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - covariance n (softmax n logits) logits
      (fun a => tempered_conditional n logits correct temperature a - softmax n logits a).

(** The one action k. *)
Definition single (k : nat) : mask := fun a => Nat.eqb a k.

(** The weight that balances a plain step with kappa F(1) is P_T times the one that F(T) needs. *)
Definition weight : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature plain alpha beta : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature ->
  rate n logits correct temperature <> 0 ->
  plain + alpha * rate n logits correct temperature = 0 ->
  plain + beta * fixed_rate n logits correct temperature = 0 ->
  beta = total_on n correct (softmax n (tempered temperature logits)) * alpha.

(** With one correct answer temperature does nothing at all. *)
Definition one_correct_answer : Prop :=
  forall (n : nat) (logits : vector) (k : nat) (temperature : R),
  (k < n)%nat -> 0 < temperature ->
  fixed_rate n logits (single k) temperature = - excess n logits k.
