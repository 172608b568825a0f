(** AEPO, section 4.1, entropy "decreases under low-temperature sampling", repaired: F(T) < 0 for T < 1 if
    F(1) <= 0, or every action is correct, or W e^{-D/T} < max_{A*} c - C; unless c = C on all of A*. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks TemperedReinforce TemperedRate SignChange.
From Trusted.Statements.aepo Require low_temperature_lowers.
Open Scope R_scope.

(** F(1) = 0 is enough, a hypothesis that no numbers with an error can decide. *)
Theorem no_rise_at_one :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature -> temperature < 1 ->
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) ->
  untempered_rate n logits correct <= 0 ->
  rate n logits correct temperature < 0.
Proof.
  intros n logits correct temperature some some_correct positive cold differs falls; rewrite <- rate_1 in falls.
  apply (fall_continues n logits correct ltac:(lia) some_correct 1); assumption.
Qed.

Theorem falls_when_cold :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature ->
  0 < 1 - temperature ->
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) ->
  0 < Rmax (Rmax (- untempered_rate n logits correct) (cold_enough n logits correct temperature))
        (all_correct n correct) ->
  0 < - rate n logits correct temperature.
Proof.
  intros n logits correct temperature some some_correct positive cold differs enough_cold.
  enough (rate n logits correct temperature < 0) by lra.
  destruct (Rlt_or_le 0 (all_correct n correct)) as [all|not_all].
  - unfold all_correct in all; destruct (some_on n (complement correct)) eqn:wrong; [lra|].
    apply everything_iff in wrong.
    apply no_rise_at_one; [assumption|assumption|assumption|lra|assumption|].
    rewrite <- rate_1, everything_rate_1 by (lia || assumption); lra.
  - destruct (Rlt_or_le (untempered_rate n logits correct) 0) as [falls|rises].
    + apply no_rise_at_one; [assumption|assumption|assumption|lra|assumption|lra].
    + apply cold_falls; [lia|assumption|assumption|].
      destruct (Rlt_or_le 0 (cold_enough n logits correct temperature)) as [fine|not_cold]; [assumption|].
      exfalso; apply (Rlt_not_le _ _ enough_cold).
      repeat apply Rmax_lub; [lra|assumption|assumption].
Qed.

Theorem proved : Statements.aepo.low_temperature_lowers.repair.
Proof.
  intros n logits correct temperature many some_correct positive cold differs enough_cold.
  apply (falls_when_cold n logits correct temperature); [lia|assumption|assumption|lra|exact differs|].
  unfold all_correct; unfold Statements.aepo.low_temperature_lowers.all_correct in enough_cold.
  destruct (some_on n (complement correct)); exact enough_cold.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.low_temperature_lowers.witness.
Proof.
  exists 2%nat, one_to_two, (fun _ => true), (1 / 2); do 5 (split; [witnessed|]).
  eapply Rlt_le_trans; [|apply Rmax_r]; numbers.
Qed.

Theorem defined : Statements.aepo.low_temperature_lowers.defined.
Proof. domains. Qed.
