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

(** Where F is negative, it was negative at every lower temperature. *)
Definition and_back : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (lower temperature : R),
  (1 <= n)%nat -> 0 < lower -> lower < temperature ->
  rate n logits correct temperature < 0 -> rate n logits correct lower < 0.

(** So there is a T0 in [0, inf] with F < 0 below it and F > 0 above it, unless F vanishes at every T. *)
Definition one_sign_change : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct ->
  (forall T, 0 < T -> rate n logits correct T = 0) \/
  (forall T, 0 < T -> 0 < rate n logits correct T) \/
  (forall T, 0 < T -> rate n logits correct T < 0) \/
  (exists T0, 0 < T0 /\
     (forall T, 0 < T -> T < T0 -> rate n logits correct T < 0) /\
     (forall T, T0 < T -> 0 < rate n logits correct T)).
