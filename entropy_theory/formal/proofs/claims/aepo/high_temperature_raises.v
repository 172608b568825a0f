(** AEPO, section 4.1, "entropy increases under high-temperature sampling", repaired: F(T) > 0 for T > 1 if
    F(1) >= 0, or every action is correct, or T > R W/|S| with S < 0; unless c = C on all of A*. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks TemperedReinforce TemperedRate SignChange.
From Trusted.Statements.aepo Require high_temperature_raises.
Open Scope R_scope.

(** F(1) = 0 is enough, a hypothesis that no numbers with an error can decide. *)
Theorem no_fall_at_one :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 1 < temperature ->
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) ->
  0 <= untempered_rate n logits correct ->
  0 < rate n logits correct temperature.
Proof.
  intros n logits correct temperature some some_correct hot differs rises; rewrite <- rate_1 in rises.
  apply (rise_continues n logits correct ltac:(lia) some_correct 1); [lra|lra|assumption|assumption].
Qed.

Theorem rises_when_hot :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature ->
  0 < temperature - 1 ->
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) ->
  0 < Rmax (Rmax (untempered_rate n logits correct) (hot_enough n logits correct temperature))
        (all_correct n correct) ->
  0 < rate n logits correct temperature.
Proof.
  intros n logits correct temperature some some_correct positive hot differs enough_heat.
  destruct (Rlt_or_le 0 (all_correct n correct)) as [all|not_all].
  - unfold all_correct in all; destruct (some_on n (complement correct)) eqn:wrong; [lra|].
    apply everything_iff in wrong.
    apply no_fall_at_one; [assumption|assumption|lra|assumption|].
    rewrite <- rate_1, everything_rate_1 by (lia || assumption); lra.
  - destruct (Rlt_or_le 0 (untempered_rate n logits correct)) as [rises|falls].
    + apply no_fall_at_one; [assumption|assumption|lra|assumption|lra].
    + apply hot_rises; [lia|assumption|].
      destruct (Rlt_or_le 0 (hot_enough n logits correct temperature)) as [fine|not_hot]; [assumption|].
      exfalso; apply (Rlt_not_le _ _ enough_heat).
      repeat apply Rmax_lub; assumption.
Qed.

Theorem proved : Statements.aepo.high_temperature_raises.repair.
Proof.
  intros n logits correct temperature many some_correct hot differs enough_heat.
  apply (rises_when_hot n logits correct temperature); [lia|assumption|lra|lra|exact differs|].
  unfold all_correct; unfold Statements.aepo.high_temperature_raises.all_correct in enough_heat.
  destruct (some_on n (complement correct)); exact enough_heat.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.high_temperature_raises.witness.
Proof. exists 2%nat, one_to_two, (fun _ => true), 2; witnessed. Qed.

Theorem defined : Statements.aepo.high_temperature_raises.defined.
Proof. domains. Qed.
