From Coq Require Import Reals.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (z : vector) : vector :=
  fun a => softmax n z a * centered n (softmax n z) z a.

(** c_a - C. *)
Definition excess (n : nat) (z : vector) : vector := centered n (softmax n z) (own_covariance n z).

Definition untempered_rate (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** F(T), and F(1) written without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

(** What F'(1) > 0 is said for: F(T) < F(1) at all temperatures close enough to 1, below it. *)
Definition relative_decrease_near_one : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> untempered_rate n logits correct < 0 ->
  exists closest, 0 <= closest < 1 /\
    forall temperature, closest < temperature -> temperature < 1 ->
    rate n logits correct temperature < untempered_rate n logits correct.

(** Without F(1) < 0 it is false even near T = 1. *)
Definition without_hypothesis_it_is_false : Prop :=
  forall near, near < 1 ->
  ~ (forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
     (2 <= n)%nat -> nonempty n correct -> 0 < temperature ->
     near < temperature -> temperature < 1 ->
     0 <= - (rate n logits correct temperature - untempered_rate n logits correct)).
