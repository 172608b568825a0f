(* Generated from the formula of the claim extension.sign-change-temperature (Extension of AEPO, Theorem 4.3). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** At least zero exactly where the conclusion is, or the premise is not positive. *)
Definition if_positive (premise : R) (conclusion : R) : R :=
  Rmax (- premise) conclusion.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

(** S, below zero exactly where the mean of c over A* is below C. *)
Definition sum_of_excess (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (excess n logits).

(** W, the sum of C - c over the actions of A* with c below C. *)
Definition missing_excess (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => Rmax (- excess n logits a) 0).

(** T |S| - R W, where S < 0. *)
Definition hot_enough (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - temperature * sum_of_excess n logits correct - (largest_on n correct logits - smallest_on n correct logits) * missing_excess n logits correct.

(** max_{A*} c - C. *)
Definition largest_excess (n : nat) (logits : vector) (correct : mask) : R :=
  largest_on n correct (excess n logits).

(** D, from the largest correct logit down to the nearest one with c below C. *)
Definition distance (n : nat) (logits : vector) (correct : mask) : R :=
  largest_on n correct logits - largest n (fun a => if andb (correct a) (less (excess n logits a) 0) then logits a else smallest_on n correct logits).

(** max_{A*} w - W e^{-D/T}. *)
Definition cold_enough (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  largest_excess n logits correct - missing_excess n logits correct * exp (- distance n logits correct / temperature).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  (0 <= if_positive (rate n logits correct temperature) (- sum_of_excess n logits correct) /\
  0 <= if_positive (hot_enough n logits correct temperature) (rate n logits correct temperature) /\
  0 <= if_positive (- rate n logits correct temperature) (largest_excess n logits correct) /\
  0 <= if_positive (cold_enough n logits correct temperature) (- rate n logits correct temperature) /\
  0 <= (if negb (some_on n (complement correct)) then (temperature - 1) * rate n logits correct temperature else (temperature - 1) * (temperature - 1))) /\
  ((~ (forall T : R, (0 < T) -> (rate n logits correct T <= 0))) -> sum_of_excess n logits correct < 0) /\
  ((sum_of_excess n logits correct < 0) -> ~ (forall T : R, (0 < T) -> (rate n logits correct T <= 0))) /\
  ((0 < hot_enough n logits correct temperature) -> 0 < rate n logits correct temperature) /\
  ((~ (forall T : R, (0 < T) -> (0 <= rate n logits correct T))) -> 0 < largest_excess n logits correct) /\
  ((0 < largest_excess n logits correct) -> ~ (forall T : R, (0 < T) -> (0 <= rate n logits correct T))) /\
  ((0 < cold_enough n logits correct temperature) -> rate n logits correct temperature < 0).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  (~ (forall T : R, (0 < T) -> (rate n logits correct T <= 0))).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  (sum_of_excess n logits correct < 0).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  (0 < hot_enough n logits correct temperature).

Definition witness_4 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  (~ (forall T : R, (0 < T) -> (0 <= rate n logits correct T))).

Definition witness_5 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  (0 < largest_excess n logits correct).

Definition witness_6 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  (0 < cold_enough n logits correct temperature).

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition cold_enough_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  rate_defined n logits correct temperature /\
  cold_enough_defined n logits correct temperature /\
  ((forall a, (a < n)%nat -> correct a = true) -> rate_defined n logits correct temperature) /\
  (forall T : R, (0 < T) -> rate_defined n logits correct T) /\
  ((sum_of_excess n logits correct < 0) -> forall T : R, (0 < T) -> rate_defined n logits correct T) /\
  ((0 < hot_enough n logits correct temperature) -> rate_defined n logits correct temperature) /\
  ((0 < largest_excess n logits correct) -> forall T : R, (0 < T) -> rate_defined n logits correct T) /\
  ((0 < cold_enough n logits correct temperature) -> rate_defined n logits correct temperature).
