(** AEPO, Corollary 4.4, second half, repaired: if F(1) < 0, then F'(1) > 0, so that temperatures just below 1
    lower entropy more than T = 1 does; and F(T) < 0 for every T < 1. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce TemperedRate.
Open Scope R_scope.

Theorem proved :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 0 < temperature ->
  0 < 1 - temperature ->
  0 < - untempered_rate n logits correct ->
  0 < Rmin (untempered_scaled_slope n logits correct) (- rate n logits correct temperature).
Proof.
  intros n logits correct temperature some positive cold falls.
  rewrite <- scaled_slope_1; rewrite <- rate_1 in falls.
  apply Rmin_glb_lt.
  - apply scaled_slope_pos; [lia|lra|lra].
  - pose proof (rate_was_negative n logits correct ltac:(lia) temperature 1 positive ltac:(lra) ltac:(lra)); lra.
Qed.

(** What F'(1) > 0 is said for: F(T) < F(1) at all temperatures close enough to 1, below it. *)
Theorem relative_decrease_near_one :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> untempered_rate n logits correct < 0 ->
  exists closest, closest < 1 /\
    forall temperature, closest < temperature -> temperature < 1 ->
    rate n logits correct temperature < untempered_rate n logits correct.
Proof.
  intros n logits correct some falls; rewrite <- rate_1 in *.
  assert (0 < scaled_slope n logits correct 1 / (1 * 1)) as rising.
  { apply Rdiv_lt_0_compat; [apply scaled_slope_pos; [lia|lra|assumption]|lra]. }
  destruct (derivative_rate n logits correct ltac:(lia) 1 ltac:(lra) _ rising) as [[near near_pos] close].
  simpl in close.
  exists (1 - near); split; [lra|].
  intros temperature above below.
  specialize (close (temperature - 1) ltac:(lra)).
  rewrite Rabs_left in close by lra.
  specialize (close ltac:(lra)).
  replace (1 + (temperature - 1)) with temperature in close by ring.
  apply Rabs_def2 in close; destruct close as [_ close].
  assert (0 < (rate n logits correct temperature - rate n logits correct 1) / (temperature - 1)) as quotient
    by lra.
  assert (0 < - (temperature - 1)) by lra.
  assert (rate n logits correct temperature - rate n logits correct 1
          = (rate n logits correct temperature - rate n logits correct 1) / (temperature - 1)
            * (temperature - 1)) as back by (field; lra).
  nra.
Qed.
