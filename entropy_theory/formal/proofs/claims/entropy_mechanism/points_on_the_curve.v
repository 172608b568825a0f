(** Clip-Cov on the curve of performance against entropy. Sparing action a moves entropy, against the base rule's
    at equal performance and to first order, by pi_a A_a (z_a - m), m the mean logit of its kind, right or wrong:
    up, where a is the likeliest right answer or the least likely wrong one, and by nothing in sum over a kind.

    The step that spares a is A - A_a e_a. The base rule performs alike where its right logits have grown by
    x(t) = the growth of the log-odds; x'(0) = 1 - A_a pi_a / pi(right), or 1 + A_a pi_a / pi(wrong). So
    dH = - Cov(z, A - A_a e_a) + x'(0) Cov(z, 1_right), and - Cov(z, A) + Cov(z, 1_right) = 0. *)

From Coq Require Import Reals Lra Lia Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Masks Comparisons Contributions EntropyChange.
From Trusted.Statements.entropy_mechanism Require points_on_the_curve.
Module Stated := Statements.entropy_mechanism.points_on_the_curve.
Open Scope R_scope.

Definition weight (n : nat) (A : mask) (z : vector) : R := total_on n A (fun a => exp (z a)).

Lemma weight_pos n A z : nonempty n A -> 0 < weight n A z.
Proof. intros some; apply total_on_pos; [exact some|intros; apply exp_pos]. Qed.

Lemma total_on_at_action n A f k :
  (k < n)%nat -> total_on n A (fun b => f b * at_action k b) = only A f k.
Proof.
  intros inside; rewrite <- (mean_at_action n (only A f) k inside).
  apply sum_ext; intros b _; unfold only; destruct (A b); ring.
Qed.

Lemma total_softmax n A z :
  total_on n A (softmax n z) = weight n A z / sum n (fun b => exp (z b)).
Proof. unfold softmax, weight; rewrite total_on_div; reflexivity. Qed.

Section Odds.

Variables (n : nat) (A : mask).
Hypothesis some : nonempty n A.
Hypothesis others : nonempty n (complement A).

Definition odds (z : vector) : R := total_on n A (softmax n z) / total_on n (complement A) (softmax n z).

Lemma odds_weights z : odds z = weight n A z / weight n (complement A) z.
Proof.
  unfold odds; rewrite !total_softmax.
  pose proof (weight_pos n A z some); pose proof (weight_pos n (complement A) z others).
  pose proof (normalizer_pos n z (nonempty_inhabited n A some)); field; split; lra.
Qed.

Lemma odds_pos z : 0 < odds z.
Proof.
  rewrite odds_weights; apply Rdiv_lt_0_compat; apply weight_pos; assumption.
Qed.

Lemma same_odds y z : odds y = odds z -> total_on n A (softmax n y) = total_on n A (softmax n z).
Proof.
  rewrite !odds_weights, !total_softmax.
  rewrite <- (total_on_complement n A (fun b => exp (y b))), <- (total_on_complement n A (fun b => exp (z b))).
  change (weight n A y / weight n (complement A) y = weight n A z / weight n (complement A) z ->
          weight n A y / (weight n A y + weight n (complement A) y)
          = weight n A z / (weight n A z + weight n (complement A) z)).
  pose proof (weight_pos n A y some); pose proof (weight_pos n (complement A) y others).
  pose proof (weight_pos n A z some); pose proof (weight_pos n (complement A) z others).
  set (a := weight n A y) in *; set (b := weight n (complement A) y) in *.
  set (c := weight n A z) in *; set (d := weight n (complement A) z) in *.
  intros same; assert (a * d = c * b) as cross.
  { replace (a * d) with (a / b * (b * d)) by (field; lra); rewrite same; field; lra. }
  apply (Rmult_eq_reg_r ((a + b) * (c + d))); [|apply Rgt_not_eq, Rmult_lt_0_compat; lra].
  replace (a / (a + b) * ((a + b) * (c + d))) with (a * c + a * d) by (field; lra).
  replace (c / (c + d) * ((a + b) * (c + d))) with (a * c + c * b) by (field; lra).
  rewrite cross; ring.
Qed.

(** One number added to the logits of A multiplies the odds by its exponential. *)
Lemma odds_raised z x : odds (fun b => z b + (if A b then x else 0)) = exp x * odds z.
Proof.
  rewrite !odds_weights.
  assert (weight n A (fun b => z b + (if A b then x else 0)) = exp x * weight n A z) as inside.
  { unfold weight; rewrite <- total_on_scal; apply total_on_ext; intros b _ chosen.
    rewrite chosen, exp_plus; ring. }
  assert (weight n (complement A) (fun b => z b + (if A b then x else 0)) = weight n (complement A) z) as outside.
  { apply total_on_ext; intros b _ chosen; apply complement_true in chosen; rewrite chosen; f_equal; ring. }
  rewrite inside, outside; unfold Rdiv; ring.
Qed.

End Odds.

(** The slope of the log-weight of a set along a direction: the mean of the direction there. *)
Lemma is_derive_log_weight n A z d :
  nonempty n A ->
  is_derive (fun t => ln (weight n A (fun b => z b + t * d b))) 0
    (total_on n A (fun b => softmax n z b * d b) / total_on n A (softmax n z)).
Proof.
  intros some; pose proof (nonempty_inhabited n A some) as several.
  pose proof (weight_pos n A z some) as positive; pose proof (normalizer_pos n z several).
  assert (weight n A (fun b => z b + 0 * d b) = weight n A z) as start.
  { apply total_on_ext; intros; f_equal; ring. }
  assert (is_derive (fun t => weight n A (fun b => z b + t * d b)) 0
            (total_on n A (fun b => exp (z b) * d b))) as slope.
  { apply (is_derive_sum n (fun t => only A (fun b => exp (z b + t * d b)))).
    intros b _; unfold only; destruct (A b); [|apply @is_derive_const].
    auto_derive; [trivial|]; replace (z b + 0 * d b) with (z b) by ring; ring. }
  evar_last; [apply (is_derive_comp ln); [apply is_derive_ln; rewrite start; exact positive|exact slope]|].
  rewrite start, total_softmax.
  rewrite (total_on_ext n A (fun b => softmax n z b * d b)
             (fun b => exp (z b) * d b * / sum n (fun c => exp (z c)))) by (intros; unfold softmax; field; lra).
  rewrite total_on_scal_r; unfold scal; simpl; unfold mult; simpl; field; split; lra.
Qed.

Section OneState.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : nonempty n A.
Hypothesis others : nonempty n (complement A).

Let several : (0 < n)%nat := nonempty_inhabited n A some.
Let p := softmax n z.
Let right := total_on n A p.
Let wrong := total_on n (complement A) p.
Let step := Stated.advantage n z A.

Lemma right_pos : 0 < right.
Proof. apply total_on_pos; [exact some|intros; apply softmax_pos, several]. Qed.

Lemma wrong_pos : 0 < wrong.
Proof. apply total_on_pos; [exact others|intros; apply softmax_pos, several]. Qed.

Lemma right_wrong : right + wrong = 1.
Proof. unfold right, wrong; rewrite total_on_complement; apply softmax_sum, several. Qed.

Lemma step_eq b : step b = (if A b then 1 else 0) - right.
Proof.
  unfold step, Stated.advantage, centered; f_equal; unfold right; symmetry.
  apply sum_ext; intros c _; unfold only; fold p; destruct (A c); ring.
Qed.

Lemma step_right b : A b = true -> step b = wrong.
Proof. intros chosen; rewrite step_eq, chosen; pose proof right_wrong; lra. Qed.

Lemma step_wrong b : A b = false -> step b = - right.
Proof. intros out; rewrite step_eq, out; ring. Qed.

(** * The sum over a kind *)

Lemma mean_right b :
  A b = true -> Stated.mean_of_kind n z A b = total_on n A (fun c => p c * z c) / right.
Proof. intros chosen; unfold Stated.mean_of_kind; rewrite chosen; reflexivity. Qed.

Lemma mean_wrong b :
  A b = false -> Stated.mean_of_kind n z A b = total_on n (complement A) (fun c => p c * z c) / wrong.
Proof. intros out; unfold Stated.mean_of_kind; rewrite out; reflexivity. Qed.

Lemma sum_of_right : total_on n A (Stated.off_the_curve n z A) = 0.
Proof.
  pose proof right_pos as positive; set (m := total_on n A (fun c => p c * z c) / right).
  transitivity (total_on n A (fun b => wrong * (p b * z b - m * p b))).
  - apply total_on_ext; intros b _ chosen; unfold Stated.off_the_curve.
    change (Stated.advantage n z A b) with (step b).
    rewrite (step_right b chosen), (mean_right b chosen); fold m p; ring.
  - rewrite total_on_scal, total_on_minus, total_on_scal; fold right.
    unfold m; field; lra.
Qed.

Lemma sum_of_wrong : total_on n (complement A) (Stated.off_the_curve n z A) = 0.
Proof.
  pose proof wrong_pos as positive; set (m := total_on n (complement A) (fun c => p c * z c) / wrong).
  transitivity (total_on n (complement A) (fun b => - right * (p b * z b - m * p b))).
  - apply total_on_ext; intros b _ out; apply complement_true in out; unfold Stated.off_the_curve.
    change (Stated.advantage n z A b) with (step b).
    rewrite (step_wrong b out), (mean_wrong b out); fold m p; ring.
  - rewrite total_on_scal, total_on_minus, total_on_scal; fold wrong.
    unfold m; field; lra.
Qed.

(** * The sign for the largest of a kind *)

Lemma likeliest_right a :
  A a = true -> largest_on n A z <= z a -> 0 <= Stated.off_the_curve n z A a.
Proof.
  intros chosen largest; unfold Stated.off_the_curve.
  change (Stated.advantage n z A a) with (step a); rewrite (step_right a chosen), (mean_right a chosen).
  pose proof right_pos; pose proof wrong_pos; pose proof (softmax_pos n z a several) as positive.
  apply Rmult_le_pos; [apply Rmult_le_pos; lra|].
  enough (total_on n A (fun c => p c * z c) / right <= z a) by lra.
  apply (Rmult_le_reg_r right); [assumption|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  unfold right; rewrite <- total_on_scal; apply total_on_le; intros b inside b_chosen.
  rewrite (Rmult_comm (z a)); apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, several|].
  apply Rle_trans with (largest_on n A z); [apply largest_on_ge|]; assumption.
Qed.

Lemma rarest_wrong a :
  A a = false -> z a <= smallest_on n (complement A) z -> 0 <= Stated.off_the_curve n z A a.
Proof.
  intros out smallest; unfold Stated.off_the_curve.
  change (Stated.advantage n z A a) with (step a); rewrite (step_wrong a out), (mean_wrong a out).
  pose proof right_pos; pose proof wrong_pos; pose proof (softmax_pos n z a several) as positive.
  set (m := total_on n (complement A) (fun c => p c * z c) / wrong).
  replace (softmax n z a * - right * (z a - m)) with (softmax n z a * right * (m - z a)) by ring.
  apply Rmult_le_pos; [apply Rmult_le_pos; lra|].
  enough (z a <= m) by lra; unfold m.
  apply (Rmult_le_reg_r wrong); [assumption|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  unfold wrong; rewrite <- total_on_scal; apply total_on_le; intros b inside b_out.
  rewrite (Rmult_comm (z a)); apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, several|].
  apply Rle_trans with (smallest_on n (complement A) z); [|apply smallest_on_le]; assumption.
Qed.

Lemma at_likeliest a :
  (a < n)%nat -> A a = true -> largest_on n A z <= z a ->
  Stated.off_the_curve n z A a = Stated.of_likeliest_right n z A.
Proof.
  intros inside chosen largest; pose proof (largest_on_ge n A z a inside chosen).
  assert (largest_on n A z = z a) as same by lra.
  assert (largest_on n A (softmax n z) = p a) as same_p.
  { apply (largest_on_eq n A _ _ a); [exact inside|exact chosen|reflexivity|].
    intros b b_inside b_chosen; apply softmax_le; [exact several|].
    rewrite <- same; apply largest_on_ge; assumption. }
  unfold Stated.off_the_curve, Stated.of_likeliest_right.
  change (Stated.advantage n z A a) with (step a); rewrite (step_right a chosen), (mean_right a chosen).
  rewrite same, same_p; unfold wrong, right, p, complement; ring.
Qed.

Lemma at_rarest a :
  (a < n)%nat -> A a = false -> z a <= smallest_on n (complement A) z ->
  Stated.off_the_curve n z A a = Stated.of_rarest_wrong n z A.
Proof.
  intros inside out smallest; pose proof (proj2 (complement_true A a) out) as chosen.
  pose proof (smallest_on_le n (complement A) z a inside chosen).
  assert (smallest_on n (complement A) z = z a) as same by lra.
  assert (smallest_on n (complement A) (softmax n z) = p a) as same_p.
  { apply (smallest_on_eq n (complement A) _ _ a); [exact inside|exact chosen|reflexivity|].
    intros b b_inside b_chosen; apply softmax_le; [exact several|].
    rewrite <- same; apply smallest_on_le; assumption. }
  unfold Stated.off_the_curve, Stated.of_rarest_wrong.
  change (Stated.advantage n z A a) with (step a); rewrite (step_wrong a out), (mean_wrong a out).
  change (fun b : nat => negb (A b)) with (complement A).
  rewrite same, same_p; unfold wrong, right, p; ring.
Qed.

Lemma of_likeliest_nonneg : 0 <= Stated.of_likeliest_right n z A.
Proof.
  destruct (largest_on_attained n A z some) as (a & inside & chosen & same).
  rewrite <- (at_likeliest a inside chosen) by lra; apply likeliest_right; [exact chosen|lra].
Qed.

Lemma of_rarest_nonneg : 0 <= Stated.of_rarest_wrong n z A.
Proof.
  destruct (smallest_on_attained n (complement A) z others) as (a & inside & chosen & same).
  apply complement_true in chosen.
  rewrite <- (at_rarest a inside chosen) by lra; apply rarest_wrong; [exact chosen|lra].
Qed.

(** * The derivative *)

Section OneAction.

Variable a : nat.
Hypothesis inside : (a < n)%nat.

Let left_out : vector := fun b => if Nat.eqb a b then 0 else step b.
Let spared (t : R) : vector := fun b => z b + t * left_out b.
Let growth (t : R) : R := ln (odds n A (spared t) / odds n A z).
Let base (t : R) : vector := fun b => z b + (if A b then growth t else 0).

Lemma left_out_eq b : left_out b = step b - step a * at_action a b.
Proof.
  unfold left_out, at_action, only; destruct (Nat.eqb_spec a b) as [->|]; ring.
Qed.

Lemma perform_alike t : total_on n A (softmax n (spared t)) = total_on n A (softmax n (base t)).
Proof.
  apply (same_odds n A some others); unfold base; rewrite odds_raised by assumption.
  pose proof (odds_pos n A some others z) as start; unfold growth; rewrite exp_ln; [field; lra|].
  apply Rdiv_lt_0_compat; [apply (odds_pos n A some others)|exact start].
Qed.

Let slope : R := total_on n A (fun b => p b * left_out b) / right
                 - total_on n (complement A) (fun b => p b * left_out b) / wrong.

Lemma growth_eq t :
  growth t = ln (weight n A (spared t)) - ln (weight n (complement A) (spared t)) - ln (odds n A z).
Proof.
  pose proof (odds_pos n A some others z).
  pose proof (weight_pos n A (spared t) some); pose proof (weight_pos n (complement A) (spared t) others).
  unfold growth; rewrite (odds_weights n A some others (spared t)).
  rewrite !ln_div; [ring|assumption..|apply Rdiv_lt_0_compat; assumption|assumption].
Qed.

Lemma growth_slope : is_derive growth 0 slope.
Proof.
  apply is_derive_ext with
    (f := fun t => ln (weight n A (spared t)) - ln (weight n (complement A) (spared t)) - ln (odds n A z));
    [intros t; symmetry; apply growth_eq|].
  evar_last.
  - apply @is_derive_minus; [apply @is_derive_minus|apply @is_derive_const].
    + apply (is_derive_log_weight n A z left_out some).
    + apply (is_derive_log_weight n (complement A) z left_out others).
  - unfold slope, minus, plus, opp, zero; simpl; fold p right wrong; ring.
Qed.

Lemma growth_start : growth 0 = 0.
Proof.
  unfold growth; replace (odds n A (spared 0)) with (odds n A z).
  - pose proof (odds_pos n A some others z); replace (odds n A z / odds n A z) with 1 by (field; lra); apply ln_1.
  - assert (forall B, weight n B z = weight n B (spared 0)) as start.
    { intros B; apply total_on_ext; intros; unfold spared; f_equal; ring. }
    rewrite !odds_weights, !start by assumption; reflexivity.
Qed.

Lemma covariance_here x g :
  (forall b, (b < n)%nat -> x b = z b) ->
  - covariance n (softmax n x) (log_softmax n x) g = - mean n p (fun b => centered n p z b * g b).
Proof.
  intros same; rewrite covariance_log_softmax by (exact several || apply softmax_sum, several).
  rewrite (covariance_ext_p n (softmax n x) p) by (intros; apply softmax_ext; assumption).
  rewrite (covariance_ext n p x g z g) by (intros; auto).
  rewrite covariance_centered_l by apply softmax_sum, several; reflexivity.
Qed.

Lemma slope_eq :
  slope = 1 - (if A a then step a * p a / right else - (step a * p a / wrong)).
Proof.
  pose proof right_pos; pose proof wrong_pos; pose proof right_wrong as whole.
  assert (on_right : total_on n A (fun b => p b * left_out b)
                     = right * wrong - step a * only A p a).
  { rewrite <- (total_on_at_action n A p a inside), (Rmult_comm right).
    unfold right; rewrite <- !total_on_scal, <- total_on_minus.
    apply total_on_ext; intros b _ chosen; rewrite left_out_eq, (step_right b chosen); ring. }
  assert (on_wrong : total_on n (complement A) (fun b => p b * left_out b)
                     = - right * wrong - step a * only (complement A) p a).
  { rewrite <- (total_on_at_action n (complement A) p a inside).
    unfold wrong; rewrite <- !total_on_scal, <- total_on_minus.
    apply total_on_ext; intros b _ out; apply complement_true in out.
    rewrite left_out_eq, (step_wrong b out); ring. }
  unfold slope; rewrite on_right, on_wrong; unfold only, complement.
  rewrite <- whole; destruct (A a); simpl; field; split; lra.
Qed.

Lemma rate : is_derive (fun t => entropy n (spared t) - entropy n (base t)) 0 (Stated.off_the_curve n z A a).
Proof.
  pose proof right_pos; pose proof wrong_pos; pose proof right_wrong as whole.
  evar_last.
  - apply @is_derive_minus.
    + apply (is_derive_entropy n spared left_out 0 several); intros; apply is_derive_line.
    + apply (is_derive_entropy n base (fun b => if A b then slope else 0) 0 several); intros b _.
      unfold base; destruct (A b).
      * evar_last; [apply @is_derive_plus; [apply @is_derive_const|apply growth_slope]|].
        unfold plus, zero; simpl; ring.
      * evar_last; [apply @is_derive_const|reflexivity].
  - rewrite !covariance_here.
    2: { intros b _; unfold base; rewrite growth_start; destruct (A b); ring. }
    2: { intros b _; unfold spared; ring. }
    set (c := centered n p z).
    assert (mean n p c = 0) as balanced by apply mean_centered, softmax_sum, several.
    set (lead := total_on n A (fun b => p b * c b)).
    assert (mean n p (fun b => c b * left_out b) = lead - step a * (p a * c a)) as first.
    { rewrite <- (mean_at_action n (fun b => p b * c b) a inside).
      transitivity (lead - right * mean n p c - step a * mean n (fun b => p b * c b) (at_action a));
        [|rewrite balanced; ring].
      unfold lead, total_on, mean; rewrite <- !sum_scal, <- !sum_minus; apply sum_ext; intros b _.
      rewrite left_out_eq, (step_eq b); unfold only; destruct (A b); ring. }
    assert (mean n p (fun b => c b * (if A b then slope else 0)) = slope * lead) as second.
    { unfold lead, total_on, mean; rewrite <- sum_scal; apply sum_ext; intros b _.
      unfold only; destruct (A b); ring. }
    rewrite first, second, slope_eq.
    assert (lead = total_on n A (fun b => p b * z b) - right * mean n p z) as lead_right.
    { unfold lead, right; rewrite (Rmult_comm _ (mean n p z)), <- total_on_scal, <- total_on_minus.
      apply total_on_ext; intros; unfold c, centered; ring. }
    assert (lead = wrong * mean n p z - total_on n (complement A) (fun b => p b * z b)) as lead_wrong.
    { pose proof (total_on_complement n A (fun b => p b * z b)) as all; fold (mean n p z) in all.
      rewrite lead_right; replace right with (1 - wrong) by lra; lra. }
    unfold Stated.off_the_curve; change (Stated.advantage n z A a) with (step a); fold p.
    unfold minus, plus, opp; simpl.
    destruct (A a) eqn:chosen.
    + rewrite (mean_right a chosen), lead_right; unfold c, centered; field; lra.
    + rewrite (mean_wrong a chosen), lead_wrong; unfold c, centered; field; lra.
Qed.

End OneAction.
End OneState.

Theorem proved : Statements.entropy_mechanism.points_on_the_curve.repair.
Proof.
  intros n logits correct two some not_all.
  pose proof (some_wrong n correct not_all) as others.
  split; [|split; [|split; [|split; [|split; [|split]]]]].
  - split; [apply of_likeliest_nonneg|apply of_rarest_nonneg]; assumption.
  - intros size a _; exact (perform_alike n logits correct some others a size).
  - intros a inside; apply derivative_of_is_derive, (rate n logits correct some others a inside).
  - intros a inside; destruct (correct a) eqn:kind; simpl; [|reflexivity].
    destruct (less (logits a) (largest_on n correct logits)) eqn:below; simpl; [reflexivity|].
    apply is_not_less in below; apply (at_likeliest n logits correct some); assumption.
  - intros a inside; destruct (correct a) eqn:kind; simpl; [reflexivity|].
    destruct (less (smallest_on n (fun b => negb (correct b)) logits) (logits a)) eqn:above; simpl; [reflexivity|].
    apply is_not_less in above; apply (at_rarest n logits correct some); assumption.
  - apply (sum_of_right n logits correct some).
  - apply (sum_of_wrong n logits correct some others).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.points_on_the_curve.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem defined : Statements.entropy_mechanism.points_on_the_curve.defined.
Proof. domains. Qed.
