(** AEPO, Theorem 4.3 and Corollary 4.4, for the exact change of entropy, repaired: where F(1) < 0, a temperature
    T > 1 leaves more entropy after one real step, for every learning rate below
    4 (F(T) - F(1)) / ((1 + log n)(||d_T||^2 + ||d_1||^2)), which is positive. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics TemperedReinforce TemperedRate Curvature CurvatureBounds EntropyChange FirstOrder.
From Trusted.Statements.aepo Require finite_step.
Open Scope R_scope.

(** The exact change by a step at one temperature, and at T = 1 written without one. *)
Definition change (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R) : R :=
  entropy_change n logits (fun a => learning_rate * unit_step n logits correct temperature a).

Notation untempered_step := Statements.aepo.finite_step.unit_step_without_temperature.

Lemma untempered_step_1 n z A a : (a < n)%nat -> unit_step n z A 1 a = untempered_step n z A a.
Proof.
  intros inside; unfold unit_step, untempered_step, only.
  rewrite softmax_tempered_1 by assumption.
  rewrite (total_on_ext n A (softmax n (tempered 1 z)) (softmax n z))
    by (intros; apply softmax_tempered_1; assumption).
  reflexivity.
Qed.

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

(** * As printed it is false

    Weights 1 : 1 : 4, the second and third action right, T = 2 and learning rate 144 log 2: both steps leave little
    entropy, and the one at T = 2 less. All probabilities are powers of two, up to their sum. *)

Definition weights_1_1_4 : vector := fun a => match a with 0%nat | 1%nat => 0 | _ => 2 * ln 2 end.
Definition last_two : mask := fun a => match a with 0%nat => false | _ => true end.

Lemma exp_2_ln_2 : exp (2 * ln 2) = 4.
Proof. replace (2 * ln 2) with (ln 2 + ln 2) by ring; rewrite exp_plus, exp_ln by lra; ring. Qed.

Lemma policy_1_1_4 a : softmax 3 weights_1_1_4 a = match a with 0%nat | 1%nat => 1 / 6 | _ => 2 / 3 end.
Proof.
  unfold softmax; simpl sum; unfold weights_1_1_4; rewrite exp_0, exp_2_ln_2.
  destruct a as [|[|a]]; rewrite ?exp_0, ?exp_2_ln_2; field.
Qed.

Lemma policy_at_2 a : softmax 3 (tempered 2 weights_1_1_4) a = match a with 0%nat | 1%nat => 1 / 4 | _ => 1 / 2 end.
Proof.
  unfold softmax, tempered; simpl sum; unfold weights_1_1_4.
  replace (0 / 2) with 0 by field; replace (2 * ln 2 / 2) with (ln 2) by field; rewrite exp_0, exp_ln by lra.
  destruct a as [|[|a]]; rewrite ?exp_0, ?exp_ln by lra;
    try (replace (0 / 2) with 0 by field; rewrite exp_0; field).
  replace (2 * ln 2 / 2) with (ln 2) by field; rewrite exp_ln by lra; field.
Qed.

(** Entropy where the logits are whole multiples of log 2, the largest of them the third: x and y are below it. *)
Lemma entropy_powers z x y w :
  z 0%nat = w * ln 2 - INR x * ln 2 -> z 1%nat = w * ln 2 - INR y * ln 2 -> z 2%nat = w * ln 2 ->
  let Z := 1 + / 2 ^ x + / 2 ^ y in
  entropy 3 z = ln Z + ln 2 * (INR x * / 2 ^ x + INR y * / 2 ^ y) / Z.
Proof.
  intros first second third Z.
  assert (forall k, exp (w * ln 2 - INR k * ln 2) = exp (w * ln 2) * / 2 ^ k) as powers.
  { intros k; unfold Rminus; rewrite exp_plus, exp_Ropp; f_equal; f_equal.
    rewrite <- Rpower_pow by lra; reflexivity. }
  assert (0 < / 2 ^ x) by (apply Rinv_0_lt_compat, pow_lt; lra).
  assert (0 < / 2 ^ y) by (apply Rinv_0_lt_compat, pow_lt; lra).
  pose proof (exp_pos (w * ln 2)) as positive.
  rewrite entropy_eq by lia; unfold mean, softmax; simpl sum.
  rewrite first, second, third, !powers.
  replace (0 + exp (w * ln 2) * / 2 ^ x + exp (w * ln 2) * / 2 ^ y + exp (w * ln 2)) with (exp (w * ln 2) * Z)
    by (unfold Z; ring).
  rewrite ln_mult, ln_exp by (unfold Z; lra).
  set (q := / 2 ^ x) in *; set (r := / 2 ^ y) in *; set (e := exp (w * ln 2)) in *.
  unfold Z; field; split; lra.
Qed.

Lemma entropy_swap z :
  entropy 3 z = entropy 3 (fun a => match a with 1%nat => z 2%nat | 2%nat => z 1%nat | _ => z a end).
Proof.
  rewrite !entropy_eq by lia; unfold mean, softmax; simpl sum.
  pose proof (exp_pos (z 0%nat)); pose proof (exp_pos (z 1%nat)); pose proof (exp_pos (z 2%nat)).
  f_equal; [f_equal; ring|field; lra].
Qed.

Theorem printed_is_false :
  ~ forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
    (2 <= n)%nat -> nonempty n correct -> 0 < temperature -> 0 < learning_rate -> 1 < temperature ->
    0 < - untempered_rate n logits correct ->
    let step := fun a => learning_rate * unit_step n logits correct temperature a in
    let plain_step := fun a => learning_rate * untempered_step n logits correct a in
    0 < - entropy_change n logits plain_step ->
    entropy_change n logits plain_step <= entropy_change n logits step.
Proof.
  intros printed.
  pose proof ln_2_above as log_2; assert (ln 2 <= 1) as log_2_below by (pose proof (ln_below 2); lra).
  set (z := weights_1_1_4).
  assert (entropy 3 z = ln (3 / 2) + 2 / 3 * ln 2) as start.
  { rewrite (entropy_powers z 2 2 2) by (unfold z, weights_1_1_4; simpl; ring); simpl.
    replace (1 + / (2 * (2 * 1)) + / (2 * (2 * 1))) with (3 / 2) by field; field. }
  assert (0 < ln (3 / 2)) as positive by (rewrite <- ln_1; apply ln_increasing; lra).
  set (plain := fun a => 144 * ln 2 * untempered_step 3 z last_two a).
  set (warm := fun a => 144 * ln 2 * unit_step 3 z last_two 2 a).
  assert (entropy 3 (moved_by z plain)
          = ln (1 + / 2 ^ 38 + / 2 ^ 14) + ln 2 * (INR 38 * / 2 ^ 38 + INR 14 * / 2 ^ 14) / (1 + / 2 ^ 38 + / 2 ^ 14))
    as at_1.
  { apply (entropy_powers _ 38 14 18); unfold moved_by, plain, untempered_step, total_on, only, last_two;
      simpl sum; unfold z; rewrite !policy_1_1_4; unfold weights_1_1_4; simpl INR; field. }
  assert (entropy 3 (moved_by z warm)
          = ln (1 + / 2 ^ 36 + / 2 ^ 16) + ln 2 * (INR 36 * / 2 ^ 36 + INR 16 * / 2 ^ 16) / (1 + / 2 ^ 36 + / 2 ^ 16))
    as at_2.
  { rewrite entropy_swap; apply (entropy_powers _ 36 16 18); unfold moved_by, warm, unit_step, total_on, only, last_two;
      simpl sum; unfold z; rewrite !policy_1_1_4, !policy_at_2; unfold weights_1_1_4; simpl INR; field. }
  assert (forall e, 0 < e -> 0 < ln (1 + e) <= e) as logs.
  { intros e e_pos; split; [rewrite <- ln_1; apply ln_increasing; lra|].
    pose proof (ln_below (1 + e)); lra. }
  pose proof (logs (/ 2 ^ 38 + / 2 ^ 14) ltac:(lra)) as log_1; rewrite <- Rplus_assoc in log_1.
  pose proof (logs (/ 2 ^ 36 + / 2 ^ 16) ltac:(lra)) as log_2'; rewrite <- Rplus_assoc in log_2'.
  assert (forall q, ln 2 * q / (1 + / 2 ^ 38 + / 2 ^ 14) = ln 2 * (q / (1 + / 2 ^ 38 + / 2 ^ 14))) as out_1
    by (intros; unfold Rdiv; ring).
  assert (forall q, ln 2 * q / (1 + / 2 ^ 36 + / 2 ^ 16) = ln 2 * (q / (1 + / 2 ^ 36 + / 2 ^ 16))) as out_2
    by (intros; unfold Rdiv; ring).
  rewrite out_1 in at_1; rewrite out_2 in at_2.
  assert (55 / 2 ^ 16 <= (INR 38 * / 2 ^ 38 + INR 14 * / 2 ^ 14) / (1 + / 2 ^ 38 + / 2 ^ 14) <= 15 / 2 ^ 14) as r_1
    by (simpl INR; split; lra).
  assert ((INR 36 * / 2 ^ 36 + INR 16 * / 2 ^ 16) / (1 + / 2 ^ 36 + / 2 ^ 16) <= 17 / 2 ^ 16) as r_2
    by (simpl INR; lra).
  assert (ln 2 * (55 / 2 ^ 16) <= ln 2 * ((INR 38 * / 2 ^ 38 + INR 14 * / 2 ^ 14) / (1 + / 2 ^ 38 + / 2 ^ 14)))
    by (apply Rmult_le_compat_l; lra).
  assert (ln 2 * ((INR 38 * / 2 ^ 38 + INR 14 * / 2 ^ 14) / (1 + / 2 ^ 38 + / 2 ^ 14)) <= ln 2 * (15 / 2 ^ 14))
    by (apply Rmult_le_compat_l; lra).
  assert (ln 2 * ((INR 36 * / 2 ^ 36 + INR 16 * / 2 ^ 16) / (1 + / 2 ^ 36 + / 2 ^ 16)) <= ln 2 * (17 / 2 ^ 16))
    by (apply Rmult_le_compat_l; lra).
  assert (0 < - untempered_rate 3 z last_two) as falls.
  { unfold untempered_rate, total_on, only, excess, centered, mean, own_covariance, centered, mean, last_two.
    simpl sum; unfold z; rewrite !policy_1_1_4; unfold weights_1_1_4; lra. }
  assert (entropy_change 3 z plain <= entropy_change 3 z warm); unfold entropy_change in *.
  - apply (printed 3%nat z last_two 2 (144 * ln 2));
      [lia|exists 1%nat; split; [lia|reflexivity]|lra|lra|lra|exact falls|].
    unfold entropy_change; fold plain; rewrite at_1, start; lra.
  - rewrite at_1, at_2 in *; lra.
Qed.

Theorem proved : Statements.aepo.finite_step.repair.
Proof.
  intros n logits correct temperature learning_rate many _ _ _ _ _ small.
  set (plain_step := fun a => learning_rate * untempered_step n logits correct a) in *.
  assert (forall a, (a < n)%nat -> plain_step a = learning_rate * unit_step n logits correct 1 a) as same
    by (intros; unfold plain_step; rewrite untempered_step_1 by assumption; reflexivity).
  change Statements.aepo.finite_step.remainder_bound with remainder_bound in small.
  replace (remainder_bound n plain_step)
    with (remainder_bound n (fun a => learning_rate * unit_step n logits correct 1 a)) in small.
  2: { unfold remainder_bound; f_equal; f_equal; apply sum_ext; intros; rewrite same by assumption; reflexivity. }
  replace (entropy_change n logits plain_step)
    with (entropy_change n logits (fun a => learning_rate * unit_step n logits correct 1 a)).
  2: { unfold entropy_change; f_equal; apply entropy_ext; intros; unfold moved_by.
       rewrite same by assumption; reflexivity. }
  change (Statements.aepo.finite_step.rate_without_temperature n logits correct)
    with (untempered_rate n logits correct) in small.
  rewrite <- rate_1 in small.
  pose proof (warmer_leaves_more n logits correct temperature 1 learning_rate ltac:(lia) small) as gain.
  apply Rminus_gt_0_lt; exact gain.
Qed.
