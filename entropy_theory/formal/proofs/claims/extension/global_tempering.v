(** Extension of AEPO, Theorem 4.3: the entropy rate F(T) changes sign at most once, from minus to plus. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce TemperedRate
  SignChangeTemperature.
From Trusted.Statements.extension Require global_tempering.
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

Theorem rises_when_hotter :
  forall (n : nat) (logits : vector) (correct : mask) (temperature factor : R),
  (1 <= n)%nat -> 0 < temperature -> 1 < factor ->
  0 < rate n logits correct temperature ->
  0 < rate n logits correct (temperature * factor).
Proof.
  intros n logits correct temperature factor some positive above rises.
  apply (rate_stays_positive n logits correct ltac:(lia) temperature); [assumption|nra|assumption].
Qed.

(** So there is a T0 in [0, inf] with F < 0 below it and F > 0 above it, unless F vanishes at every T. *)
Theorem one_sign_change :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct ->
  (forall T, 0 < T -> rate n logits correct T = 0) \/
  (forall T, 0 < T -> 0 < rate n logits correct T) \/
  (forall T, 0 < T -> rate n logits correct T < 0) \/
  (exists T0, 0 < T0 /\
     (forall T, 0 < T -> T < T0 -> rate n logits correct T < 0) /\
     (forall T, T0 < T -> 0 < rate n logits correct T)).
Proof. intros n logits correct some some_correct; apply one_sign_change; [lia|assumption]. Qed.

Theorem proved : Statements.extension.global_tempering.statement.
Proof.
  intros n logits correct temperature factor many some_correct positive above rises.
  apply (rises_when_hotter n logits correct temperature factor); [lia|assumption|assumption|exact rises].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.global_tempering.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => 2 * ln 2 end), (fun a => Nat.eqb a 0), 2, 2;
    witnessed.
Qed.

Theorem defined : Statements.extension.global_tempering.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require global_tempering.
From Trusted.Conditions.extension Require global_tempering.

Theorem and_back_witness : Conditions.extension.global_tempering.and_back_witness.
Proof.
  exists 2%nat, one_to_two, (fun a => Nat.eqb a 1), (1 / 2), 1; repeat (split; [met|]); numbers.
Qed.

Theorem and_back_defined : Conditions.extension.global_tempering.and_back_defined.
Proof. domains. Qed.

Theorem one_sign_change_witness : Conditions.extension.global_tempering.one_sign_change_witness.
Proof. exists 2%nat, (fun a => Nat.eqb a 1); met. Qed.

Theorem one_sign_change_defined : Conditions.extension.global_tempering.one_sign_change_defined.
Proof. domains. Qed.
