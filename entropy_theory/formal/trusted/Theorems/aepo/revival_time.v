From Coq Require Import Reals.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** B *)
Definition lead (n : nat) (z : vector) (A : mask) : R :=
  smallest_on n A z - largest_on n (complement A) z.

(** The expected logit step per unit learning rate: 1_{A*} pi^T - P_T pi, where P_T is
    the tempered probability of the correct actions (Eqs. 4, 5). *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a =>
    only correct (softmax n (tempered temperature logits)) a
    - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** Phi *)
Definition gap (n : nat) (z : vector) (correct : mask) : R :=
  total_on n correct z / count_on n correct - largest_on n (complement correct) z.

(** f_T(D) *)
Definition speed (gap temperature : R) : R :=
  let hot := exp (- gap / temperature) in
  let cold := exp (- gap) in
  2 * (hot - cold) / ((1 + hot) * (1 + cold)).

(** c(D) *)
Definition slowness (gap temperature : R) : R := speed gap temperature * exp (gap / temperature).

Definition time_of_two_answers : Prop :=
  forall temperature learning_rate : R,
  1 < temperature -> 0 < learning_rate <= 2 ->
  let all := fun _ : nat => true in
  (forall (n : nat) (logits : vector) (top a : nat) (lead : R),
     (2 <= n)%nat -> (top < n)%nat -> (a < n)%nat ->
     (forall b, (b < n)%nat -> b <> top -> lead <= logits top - logits b) ->
     let after b := logits b + learning_rate * unit_step n logits all temperature b in
     (logits top - logits a) - (after top - after a)
     <= 2 * learning_rate * (INR n - 1) * exp (- lead / temperature))
  /\ (forall logits : nat -> vector,
        (forall k a, (a < 2)%nat ->
           logits (S k) a = logits k a + learning_rate * unit_step 2 (logits k) all temperature a) ->
        let gap k := logits k 0%nat - logits k 1%nat in
        0 <= gap 0%nat ->
        (forall k, gap (S k) = gap k - learning_rate * speed (gap k) temperature)
        /\ (forall N,
              0 <= gap N
              /\ temperature / (2 * learning_rate) * (exp (gap 0%nat / temperature) - exp (gap N / temperature))
                 <= INR N
              /\ INR N * (learning_rate * slowness (gap N) temperature)
                 <= (temperature + learning_rate) * (exp (gap 0%nat / temperature) - exp (gap N / temperature))
              /\ (0 < gap N ->
                  INR N <= (temperature + learning_rate) / (learning_rate * slowness (gap N) temperature)
                           * (exp (gap 0%nat / temperature) - exp (gap N / temperature)))
              /\ (forall D, D <= gap N -> 0 <= D -> slowness D temperature <= slowness (gap N) temperature))).
