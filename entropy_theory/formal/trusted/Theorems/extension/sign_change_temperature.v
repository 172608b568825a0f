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

(** S *)
Definition sum_of_excess (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (excess n logits).

(** max_{A*} c - C *)
Definition largest_excess (n : nat) (logits : vector) (correct : mask) : R :=
  largest_on n correct (excess n logits).

(** The one action k. *)
Definition single (k : nat) : mask := fun a => Nat.eqb a k.

(** F > 0 at some temperature exactly if the mean of c over A* is below C. *)
Definition rises_somewhere_iff : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct ->
  (exists T, 0 < T /\ 0 < rate n logits correct T) <-> sum_of_excess n logits correct < 0.

(** F < 0 at some temperature exactly if the largest c of A* is above C. *)
Definition falls_somewhere_iff : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct ->
  (exists T, 0 < T /\ rate n logits correct T < 0) <-> 0 < largest_excess n logits correct.

(** The sign changes at a temperature T0 in (0, inf) exactly if mean_{A*} c < C < max_{A*} c. *)
Definition sign_change : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct ->
  (exists T0, 0 < T0 /\
     (forall T, 0 < T -> T < T0 -> rate n logits correct T < 0) /\
     (forall T, T0 < T -> 0 < rate n logits correct T))
  <-> sum_of_excess n logits correct < 0 /\ 0 < largest_excess n logits correct.

(** One correct answer: the sign of F is that of C - c, at every temperature. *)
Definition one_correct_answer : Prop :=
  forall (n : nat) (logits : vector) (k : nat) (temperature : R),
  (k < n)%nat -> 0 < temperature ->
  rate n logits (single k) temperature = softmax n (tempered temperature logits) k * - excess n logits k
  /\ 0 < softmax n (tempered temperature logits) k.

(** All actions correct: T0 = 1, for every policy that is not uniform. *)
Definition every_action_correct : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> everything n correct -> 0 < temperature ->
  0 < largest n logits - smallest n logits ->
  (1 < temperature -> 0 < rate n logits correct temperature) /\
  (temperature < 1 -> rate n logits correct temperature < 0).
