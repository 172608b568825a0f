(** AEPO, Corollary 4.4, second half: if F(1) < 0, then F'(1) > 0, so that temperatures just below 1
    lower entropy more than T = 1 does; and F(T) < 0 for every T < 1. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce TemperedRate Examples.
From Trusted.Statements.aepo Require corollary_4_4_low.
Open Scope R_scope.

Theorem falls_below_one :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 0 < temperature ->
  0 < 1 - temperature ->
  0 < - untempered_rate n logits correct ->
  0 < untempered_scaled_slope n logits correct /\ 0 < - rate n logits correct temperature.
Proof.
  intros n logits correct temperature some positive cold falls.
  rewrite <- scaled_slope_1; rewrite <- rate_1 in falls.
  split.
  - apply scaled_slope_pos; [lia|lra|lra].
  - pose proof (rate_was_negative n logits correct ltac:(lia) temperature 1 positive ltac:(lra) ltac:(lra)); lra.
Qed.

(** F'(1) *)
Theorem slope_at_one :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  derivative (rate n logits correct) 1 (untempered_scaled_slope n logits correct).
Proof. intros; apply derivative_rate_at_one; lia. Qed.

(** A positive derivative puts the function below its value, to the left. *)
Lemma lower_before (f : R -> R) x slope :
  derivative f x slope -> 0 < slope ->
  exists closest, closest < x /\ forall y, closest < y -> y < x -> f y < f x.
Proof.
  intros moves rising; destruct (moves _ rising) as [[near near_pos] close]; simpl in close.
  exists (x - near); split; [lra|]; intros y above below.
  specialize (close (y - x) ltac:(lra)).
  rewrite Rabs_left in close by lra; specialize (close ltac:(lra)).
  replace (x + (y - x)) with y in close by ring.
  apply Rabs_def2 in close; destruct close as [_ close].
  assert (0 < (f y - f x) / (y - x)) as quotient by lra.
  assert (f y - f x = (f y - f x) / (y - x) * (y - x)) as back by (field; lra).
  nra.
Qed.

(** What F'(1) > 0 is said for: F(T) < F(1) at all temperatures close enough to 1, below it. *)
Theorem relative_decrease_near_one :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> untempered_rate n logits correct < 0 ->
  exists closest, 0 <= closest < 1 /\
    forall temperature, closest < temperature -> temperature < 1 ->
    rate n logits correct temperature < untempered_rate n logits correct.
Proof.
  intros n logits correct some falls; rewrite <- rate_1 in *.
  destruct (lower_before (rate n logits correct) 1 (scaled_slope n logits correct 1 / (1 * 1)))
    as (closest & below & lower).
  - apply derivative_rate; [lia|lra].
  - apply Rdiv_lt_0_compat; [apply scaled_slope_pos; [lia|lra|assumption]|lra].
  - exists (Rmax closest 0); split; [split; [apply Rmax_r|apply Rmax_lub_lt; lra]|].
    intros temperature above; apply lower; pose proof (Rmax_l closest 0); lra.
Qed.

(** Without F(1) < 0 it is false even near T = 1: with the weights (1, 4, 5) and the second answer correct F'(1) < 0, so
    that F(T) > F(1) just below T = 1. *)
Theorem without_hypothesis_it_is_false :
  forall near, near < 1 ->
  ~ (forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
     (2 <= n)%nat -> nonempty n correct -> 0 < temperature ->
     near < temperature -> temperature < 1 ->
     0 <= - (rate n logits correct temperature - untempered_rate n logits correct)).
Proof.
  intros near near_one printed.
  set (weights := fun a : nat => match a with O => 1 | 1%nat => 4 | _ => 5 end).
  set (z := fun a : nat => ln (weights a)).
  assert (forall a, (a < 3)%nat -> 0 < weights a) as positive
    by (intros [|[|[|a]]] inside; simpl; lra || lia).
  assert (6 * ln 4 > 5 * ln 5) as above_mean.
  { replace (6 * ln 4) with (ln (4 ^ 6)) by (rewrite ln_pow by lra; simpl INR; ring).
    replace (5 * ln 5) with (ln (5 ^ 5)) by (rewrite ln_pow by lra; simpl INR; ring).
    apply ln_increasing; lra. }
  assert (31 * ln 4 < 30 * ln 5) as below_average.
  { replace (31 * ln 4) with (ln (4 ^ 31)) by (rewrite ln_pow by lra; simpl INR; ring).
    replace (30 * ln 5) with (ln (5 ^ 30)) by (rewrite ln_pow by lra; simpl INR; ring).
    apply ln_increasing; lra. }
  assert (untempered_scaled_slope 3 z (single 1) < 0) as slope.
  { unfold untempered_scaled_slope; rewrite total_on_single by lia.
    unfold excess, own_covariance, centered, mean; simpl sum.
    unfold z; rewrite !softmax_of_weights by (assumption || lia); simpl; rewrite ln_1; nra. }
  destruct (lower_before (fun t => - rate 3 z (single 1) t) 1 (- (scaled_slope 3 z (single 1) 1 / (1 * 1))))
    as (closest & below_one & lower).
  { apply derivable_pt_lim_opp, derivative_rate; [lia|lra]. }
  { rewrite scaled_slope_1; lra. }
  set (from := Rmax closest (Rmax near 0)).
  pose proof (Rmax_l closest (Rmax near 0) : closest <= from) as inside.
  pose proof (Rmax_r closest (Rmax near 0) : Rmax near 0 <= from) as beyond.
  pose proof (Rmax_l near 0) as nearer; pose proof (Rmax_r near 0) as not_negative.
  assert (from < 1) as outside by (repeat apply Rmax_lub_lt; lra).
  specialize (lower ((from + 1) / 2) ltac:(lra) ltac:(lra)).
  specialize (printed 3%nat z (single 1) ((from + 1) / 2) ltac:(lia)
                (single_nonempty 3 1 ltac:(lia)) ltac:(lra) ltac:(lra) ltac:(lra)).
  rewrite <- rate_1 in printed; lra.
Qed.

Theorem proved : Statements.aepo.corollary_4_4_low.repair.
Proof.
  intros n logits correct temperature many some_correct positive cold falls; split.
  - apply (falls_below_one n logits correct temperature); [lia|assumption|lra|exact falls].
  - apply slope_at_one; lia.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.corollary_4_4_low.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => Nat.eqb a 1), (1 / 2);
    witnessed.
Qed.

Theorem defined : Statements.aepo.corollary_4_4_low.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aepo Require corollary_4_4_low.
From Trusted.Conditions.aepo Require corollary_4_4_low.

Theorem relative_decrease_near_one_witness : Conditions.aepo.corollary_4_4_low.relative_decrease_near_one_witness.
Proof. exists 2%nat, one_to_two, (fun a => Nat.eqb a 1); repeat (split; [met|]); numbers. Qed.

Theorem relative_decrease_near_one_defined : Conditions.aepo.corollary_4_4_low.relative_decrease_near_one_defined.
Proof. domains. Qed.

Theorem without_hypothesis_it_is_false_witness : Conditions.aepo.corollary_4_4_low.without_hypothesis_it_is_false_witness.
Proof. exists 0; lra. Qed.

Theorem without_hypothesis_it_is_false_defined : Conditions.aepo.corollary_4_4_low.without_hypothesis_it_is_false_defined.
Proof. domains. Qed.
