(** AEPO, Theorem 4.3 and Corollary 4.4, read for the exact change of entropy "whatever the learning rate": false.

    Weights 1 : 1 : 2, the second and third action right, learning rate 20: F(1) < 0 and a step at T = 1 lowers
    entropy, and a step at T = 8 lowers it further. What holds is in [claims/aepo/finite_step.v]. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce EntropyChange Enclosures.
Open Scope R_scope.

(** The exact change by the step at temperature T, and by that at T = 1 written without one. *)
Definition change (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R) : R :=
  entropy_change n logits (fun a => learning_rate * unit_step n logits correct temperature a).
Definition plain_change (n : nat) (logits : vector) (correct : mask) (learning_rate : R) : R :=
  entropy_change n logits (fun a =>
    learning_rate * (only correct (softmax n logits) a - total_on n correct (softmax n logits) * softmax n logits a)).

Definition weights_1_1_2 : vector := fun a => match a with 0%nat | 1%nat => 0 | _ => ln 2 end.
Definition last_two : mask := fun a => match a with 0%nat => false | _ => true end.

Lemma policy : forall a, (a < 3)%nat ->
  softmax 3 weights_1_1_2 a = match a with 0%nat | 1%nat => 1 / 4 | _ => 1 / 2 end.
Proof.
  intros a inside; unfold softmax; simpl sum; unfold weights_1_1_2; rewrite exp_0, exp_ln by lra.
  destruct a as [|[|a]]; rewrite ?exp_0, ?exp_ln by lra; field.
Qed.

(** Entropy of three actions as an expression in the logits. *)
Lemma entropy_three z :
  entropy 3 z = ln (exp (z 0%nat) + exp (z 1%nat) + exp (z 2%nat))
    - (exp (z 0%nat) * z 0%nat + exp (z 1%nat) * z 1%nat + exp (z 2%nat) * z 2%nat)
      / (exp (z 0%nat) + exp (z 1%nat) + exp (z 2%nat)).
Proof.
  rewrite entropy_eq by lia; unfold mean, softmax; simpl sum.
  rewrite !Rplus_0_l; pose proof (exp_pos (z 0%nat)); pose proof (exp_pos (z 1%nat)).
  pose proof (exp_pos (z 2%nat)); f_equal; field; lra.
Qed.

(** The step at temperature T, with s = 2^(1/T). *)
Lemma step_at T :
  let s := exp (ln 2 / T) in
  let step := unit_step 3 weights_1_1_2 last_two T in
  step 0%nat = - (1 + s) / (2 + s) / 4
  /\ step 1%nat = 1 / (2 + s) - (1 + s) / (2 + s) / 4
  /\ step 2%nat = s / (2 + s) - (1 + s) / (2 + s) / 2.
Proof.
  intros s step; unfold step, unit_step; rewrite !policy by lia.
  unfold total_on, only, softmax, tempered, last_two, weights_1_1_2; simpl sum; fold s.
  pose proof (exp_pos (ln 2 / T)) as positive; fold s in positive.
  replace (0 / T) with 0 by (unfold Rdiv; ring); rewrite exp_0; repeat split; field; lra.
Qed.

Lemma plain_step :
  plain_change 3 weights_1_1_2 last_two 20 = change 3 weights_1_1_2 last_two 1 20.
Proof.
  unfold plain_change, change, entropy_change; f_equal; apply entropy_ext; intros a inside; unfold moved_by, unit_step.
  unfold only; rewrite softmax_tempered_1 by assumption.
  rewrite (total_on_ext 3 last_two (softmax 3 (tempered 1 weights_1_1_2)) (softmax 3 weights_1_1_2))
    by (intros; apply softmax_tempered_1; assumption).
  reflexivity.
Qed.

Theorem false_as_printed :
  ~ forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
    (2 <= n)%nat -> nonempty n correct -> 0 < temperature -> 0 < learning_rate -> 1 < temperature ->
    0 < total_on n correct (fun a => softmax n logits a * excess n logits a) ->
    0 < - plain_change n logits correct learning_rate ->
    plain_change n logits correct learning_rate <= change n logits correct temperature learning_rate.
Proof.
  intros printed.
  specialize (printed 3%nat weights_1_1_2 last_two 8 20).
  assert (nonempty 3 last_two) as some by (exists 1%nat; split; [lia|reflexivity]).
  assert (forall T, change 3 weights_1_1_2 last_two T 20
    = let step := unit_step 3 weights_1_1_2 last_two T in
      let x := 20 * step 0%nat in let y := 20 * step 1%nat in let w := ln 2 + 20 * step 2%nat in
      ln (exp x + exp y + exp w) - (exp x * x + exp y * y + exp w * w) / (exp x + exp y + exp w)
      - (3 / 2 * ln 2)) as changes.
  { intros T; unfold change; set (step := unit_step 3 weights_1_1_2 last_two T); unfold entropy_change.
    rewrite !entropy_three; cbv zeta; unfold moved_by, weights_1_1_2.
    rewrite !Rplus_0_l, exp_0, exp_ln by lra.
    replace (1 + 1 + 2) with (2 * 2) by ring; rewrite ln_mult by lra; field.
    pose proof (exp_pos (20 * step 0%nat)); pose proof (exp_pos (20 * step 1%nat)).
    pose proof (exp_pos (ln 2 + 20 * step 2%nat)); lra. }
  assert (change 3 weights_1_1_2 last_two 1 20 < - (4 / 10)) as plain.
  { rewrite changes; cbv zeta; destruct (step_at 1) as (-> & -> & ->).
    replace (ln 2 / 1) with (ln 2) by field; rewrite exp_ln by lra; enclose. }
  assert (change 3 weights_1_1_2 last_two 8 20 - change 3 weights_1_1_2 last_two 1 20 < 0) as less.
  { rewrite !changes; cbv zeta; destruct (step_at 1) as (-> & -> & ->); destruct (step_at 8) as (-> & -> & ->).
    replace (ln 2 / 1) with (ln 2) by field; rewrite exp_ln by lra; enclose. }
  assert (0 < total_on 3 last_two (fun a => softmax 3 weights_1_1_2 a * excess 3 weights_1_1_2 a)) as falls.
  { unfold total_on, only, excess, centered, mean, own_covariance, centered, mean, last_two.
    simpl sum; rewrite !policy by lia; unfold weights_1_1_2; enclose. }
  rewrite plain_step in printed.
  assert (change 3 weights_1_1_2 last_two 1 20 <= change 3 weights_1_1_2 last_two 8 20); [|lra].
  apply printed; [lia|assumption|lra|lra|lra|assumption|lra].
Qed.
