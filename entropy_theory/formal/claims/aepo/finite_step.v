(** AEPO, Theorem 4.3 and Corollary 4.4, for the exact change of entropy, repaired: where F(1) < 0, a temperature
    T > 1 leaves more entropy after one real step, for every learning rate below
    4 (F(T) - F(1)) / ((1 + log n)(||d_T||^2 + ||d_1||^2)), which is positive. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import
  Definitions Basics TemperedReinforce TemperedRate Curvature EntropyChange FirstOrder.
Open Scope R_scope.

(** The exact change by a step at one temperature. *)
Definition change (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R) : R :=
  entropy_change n logits (fun a => learning_rate * unit_step n logits correct temperature a).

(** The bound on the learning rate is not empty: F(T) - F(1) is positive. *)
Theorem learning_rates_exist :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 1 < temperature -> rate n logits correct 1 < 0 ->
  0 < rate n logits correct temperature - rate n logits correct 1.
Proof.
  intros n logits correct temperature some hot falls.
  pose proof (rate_above_one n logits correct ltac:(lia) temperature ltac:(lra) ltac:(lra)); lra.
Qed.

(** The same for any two temperatures, without a hypothesis on signs. *)
Theorem warmer_leaves_more :
  forall (n : nat) (logits : vector) (correct : mask) (temperature reference learning_rate : R),
  (1 <= n)%nat ->
  remainder_bound n (fun a => learning_rate * unit_step n logits correct temperature a)
  + remainder_bound n (fun a => learning_rate * unit_step n logits correct reference a)
  < learning_rate * (rate n logits correct temperature - rate n logits correct reference) ->
  0 < change n logits correct temperature learning_rate - change n logits correct reference learning_rate.
Proof.
  intros n logits correct temperature reference learning_rate some small; unfold change.
  assert (forall T,
    Rabs (entropy_change n logits (fun a => learning_rate * unit_step n logits correct T a)
          - learning_rate * rate n logits correct T)
    <= remainder_bound n (fun a => learning_rate * unit_step n logits correct T a)) as error.
  { intros T; apply first_order_error_scaled; [lia|apply rate_of_step; lia]. }
  pose proof (proj1 (Rabs_le_between _ _) (error temperature)).
  pose proof (proj1 (Rabs_le_between _ _) (error reference)); lra.
Qed.

Theorem proved :
  forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
  (1 <= n)%nat -> 0 < learning_rate ->
  0 < temperature - 1 ->
  0 < - untempered_rate n logits correct ->
  0 < learning_rate * (rate n logits correct temperature - untempered_rate n logits correct)
      - (remainder_bound n (fun a => learning_rate * unit_step n logits correct temperature a)
         + remainder_bound n (fun a => learning_rate * unit_step n logits correct 1 a)) ->
  0 < change n logits correct temperature learning_rate - change n logits correct 1 learning_rate.
Proof.
  intros n logits correct temperature learning_rate some positive hot falls small.
  apply warmer_leaves_more; [assumption|rewrite rate_1; lra].
Qed.
