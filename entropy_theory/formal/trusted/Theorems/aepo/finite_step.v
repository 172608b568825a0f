From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
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

(** The expected logit step per unit learning rate: 1_{A*} pi^T - P_T pi, where P_T is
    the tempered probability of the correct actions (Eqs. 4, 5). *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a =>
    only correct (softmax n (tempered temperature logits)) a
    - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** grad p = pi (1_A - p) *)
Definition plain_step (n : nat) (z : vector) (A : mask) : vector :=
  fun a =>
    softmax n z a
    * (if A a then total_on n (complement A) (softmax n z) else - total_on n A (softmax n z)).

(** 1_A pi - p pi *)
Definition untempered_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a =>
    (if correct a then softmax n logits a else 0)
    - total_on n correct (softmax n logits) * softmax n logits a.

(** The bound on the learning rate is not empty: F(T) - F(1) is positive. *)
Definition learning_rates_exist : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 1 < temperature -> rate n logits correct 1 < 0 ->
  0 < rate n logits correct temperature - rate n logits correct 1.

Definition printed_is_false : Prop :=
  ~ forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
    (2 <= n)%nat -> nonempty n correct -> 0 < temperature -> 0 < learning_rate -> 1 < temperature ->
    0 < - untempered_rate n logits correct ->
    let step := fun a => learning_rate * unit_step n logits correct temperature a in
    let plain_step := fun a => learning_rate * untempered_step n logits correct a in
    0 < - entropy_change n logits plain_step ->
    entropy_change n logits plain_step <= entropy_change n logits step.
