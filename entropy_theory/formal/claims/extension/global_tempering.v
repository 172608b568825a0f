(** Extension of AEPO, Theorem 4.3: the entropy rate F(T) changes sign at most once, from minus to plus. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce TemperedRate.
Open Scope R_scope.

(** Where F is negative, it was negative at every lower temperature. *)
Theorem and_back :
  forall (n : nat) (logits : vector) (correct : mask) (lower temperature : R),
  (1 <= n)%nat -> 0 < lower -> lower < temperature ->
  rate n logits correct temperature < 0 -> rate n logits correct lower < 0.
Proof.
  intros n logits correct lower temperature some positive below falls.
  apply (rate_was_negative n logits correct ltac:(lia) lower temperature); lra.
Qed.

Theorem proved :
  forall (n : nat) (logits : vector) (correct : mask) (temperature factor : R),
  (1 <= n)%nat -> 0 < temperature -> 1 < factor ->
  0 < rate n logits correct temperature ->
  0 < rate n logits correct (temperature * factor).
Proof.
  intros n logits correct temperature factor some positive above rises.
  apply (rate_stays_positive n logits correct ltac:(lia) temperature); [assumption|nra|assumption].
Qed.
