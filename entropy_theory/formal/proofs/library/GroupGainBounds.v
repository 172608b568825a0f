(** Bounds of kappa, by which the expected GRPO step is longer than the gradient of the success probability. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics RewardGroups GroupGain.
Open Scope R_scope.

(** Binomial weights, and the mean under them as a mean over actions. *)
Definition weight (m : nat) (right wrong : R) : vector :=
  fun k => Binomial.C m k * right ^ k * wrong ^ (m - k).

Lemma binomial_mean_is_mean m right wrong phi :
  binomial_mean m right wrong phi = mean (S m) (weight m right wrong) phi.
Proof. reflexivity. Qed.

Section Kappa.

(** G = m + 2. *)
Variables (m : nat) (right wrong : R).
Hypothesis (right_nonneg : 0 <= right) (wrong_nonneg : 0 <= wrong).
Hypothesis all : right + wrong = 1.

Let G := INR (S (S m)).
(** x_j = k (G - k) for k = j + 1. *)
Let x (j : nat) : R := INR (S j) * (G - INR (S j)).

Lemma weight_nonneg i k : 0 <= weight i right wrong k.
Proof.
  unfold weight; apply Rmult_le_pos; [apply Rmult_le_pos|].
  - apply Rlt_le, C_nonneg.
  - apply pow_le, right_nonneg.
  - apply pow_le, wrong_nonneg.
Qed.

Lemma weight_total i : sum (S i) (weight i right wrong) = 1.
Proof.
  rewrite <- (binomial_mean_total i right wrong all), binomial_mean_is_mean.
  apply sum_ext; intros; ring.
Qed.

Lemma size : G = INR m + 2.
Proof. unfold G; rewrite !S_INR; ring. Qed.

Lemma x_least j : (j <= m)%nat -> G - 1 <= x j.
Proof.
  intros inside; unfold x; apply le_INR in inside; rewrite size, S_INR.
  pose proof (pos_INR j).
  assert (0 <= INR j * (INR m - INR j)) by (apply Rmult_le_pos; lra).
  lra.
Qed.

Lemma x_most j : 4 * x j <= G * G.
Proof.
  unfold x; pose proof (Rle_0_sqr (G - 2 * INR (S j))) as square; unfold Rsqr in square; lra.
Qed.

(** k (G - k) C(G, k) = G (G - 1) C(G - 2, k - 1). *)
Lemma coefficient j :
  (j <= m)%nat -> x j * Binomial.C (S (S m)) (S j) = G * (G - 1) * Binomial.C m j.
Proof.
  intros inside; unfold x.
  replace (INR (S j) * (G - INR (S j)) * Binomial.C (S (S m)) (S j))
    with ((G - INR (S j)) * (INR (S j) * Binomial.C (S (S m)) (S j))) by ring.
  rewrite <- C_below by lia; fold G.
  unfold Binomial.C; replace (S m - j)%nat with (S (m - j)) by lia.
  replace (G - INR (S j)) with (INR (S (m - j))).
  2: { unfold G; rewrite <- minus_INR by lia; f_equal; lia. }
  replace (G - 1) with (INR (S m)) by (unfold G; rewrite !S_INR; ring).
  change (fact (S m)) with (S m * fact m)%nat.
  change (fact (S (m - j))) with (S (m - j) * fact (m - j))%nat.
  rewrite !mult_INR; pose proof (INR_fact_neq_0 j); pose proof (INR_fact_neq_0 (m - j)).
  assert (INR (S (m - j)) <> 0) by (apply not_0_INR; lia).
  field; auto.
Qed.

Let gain := group_gain (S (S m)) 0 right wrong.

(** kappa is the mean of (G - 1)/sqrt(k (G - k)) for k - 1 binomial in G - 2 draws. *)
Lemma kappa_eq : gain = binomial_mean m right wrong (fun j => (G - 1) / sqrt (x j)).
Proof.
  assert (2 <= G) by (rewrite size; pose proof (pos_INR m); lra).
  unfold gain, group_gain; replace (S (S m) - 1)%nat with (S m) by lia; fold G.
  simpl (INR 0); replace ((G - 0) / G) with 1 by (field; lra); rewrite sqrt_1, Rmult_1_r.
  unfold binomial_mean; apply sum_ext; intros j inside.
  replace (S m - S j)%nat with (m - j)%nat by lia; fold (x j).
  assert (0 < x j) by (pose proof (x_least j); lra || (pose proof (x_least j ltac:(lia)); lra)).
  assert (root : 0 < sqrt (x j)) by (apply sqrt_lt_R0; assumption).
  assert (square : sqrt (x j) * sqrt (x j) = x j) by (apply sqrt_sqrt; lra).
  pose proof (coefficient j ltac:(lia)) as same.
  apply (Rmult_eq_reg_r (sqrt (x j) * G)); [|apply Rmult_integral_contrapositive; lra].
  transitivity (x j * Binomial.C (S (S m)) (S j) * (right ^ j * wrong ^ (m - j))).
  - set (r := sqrt (x j)) in *; rewrite <- square; field; lra.
  - rewrite same; field; lra.
Qed.

Lemma at_least_constant : 2 - 2 / G <= gain.
Proof.
  assert (2 <= G) by (rewrite size; pose proof (pos_INR m); lra).
  rewrite kappa_eq, binomial_mean_is_mean.
  rewrite <- (mean_const (S m) (weight m right wrong) (2 - 2 / G)) by apply weight_total.
  apply mean_le; [intros; apply weight_nonneg|intros j inside].
  assert (0 < x j) by (pose proof (x_least j ltac:(lia)); lra).
  assert (root : 0 < sqrt (x j)) by (apply sqrt_lt_R0; assumption).
  assert (sqrt (x j) <= G / 2).
  { rewrite <- (sqrt_square (G / 2)) by lra; apply sqrt_le_1_alt.
    pose proof (x_most j); lra. }
  apply (Rmult_le_reg_r (sqrt (x j) * G)); [apply Rmult_lt_0_compat; lra|].
  replace ((2 - 2 / G) * (sqrt (x j) * G)) with (2 * (G - 1) * sqrt (x j)) by (field; lra).
  replace ((G - 1) / sqrt (x j) * (sqrt (x j) * G)) with (2 * (G - 1) * (G / 2)) by (field; lra).
  apply Rmult_le_compat_l; lra.
Qed.

Lemma at_most_root : gain <= sqrt (G - 1).
Proof.
  assert (2 <= G) by (rewrite size; pose proof (pos_INR m); lra).
  rewrite kappa_eq, binomial_mean_is_mean.
  rewrite <- (mean_const (S m) (weight m right wrong) (sqrt (G - 1))) by apply weight_total.
  apply mean_le; [intros; apply weight_nonneg|intros j inside].
  pose proof (x_least j ltac:(lia)) as least.
  assert (0 < sqrt (G - 1)) by (apply sqrt_lt_R0; lra).
  assert (sqrt (G - 1) <= sqrt (x j)) by (apply sqrt_le_1_alt; exact least).
  apply (Rmult_le_reg_r (sqrt (x j))); [lra|].
  replace ((G - 1) / sqrt (x j) * sqrt (x j)) with (sqrt (G - 1) * sqrt (G - 1)).
  - apply Rmult_le_compat_l; lra.
  - rewrite sqrt_sqrt by lra; field; lra.
Qed.

(** The terms k = 1 and k = G - 1, which are two if G >= 3. *)
Lemma at_least_ends : (1 <= m)%nat -> sqrt (G - 1) * (wrong ^ m + right ^ m) <= gain.
Proof.
  intros three; assert (2 <= G) by (rewrite size; pose proof (pos_INR m); lra).
  assert (end_value : forall j, x j = G - 1 -> (G - 1) / sqrt (x j) = sqrt (G - 1)).
  { intros j same; rewrite same; assert (0 < sqrt (G - 1)) by (apply sqrt_lt_R0; lra).
    apply (Rmult_eq_reg_r (sqrt (G - 1))); [|lra].
    rewrite sqrt_sqrt by lra; field; lra. }
  assert (first : x 0 = G - 1) by (unfold x; simpl (INR 1); ring).
  assert (last : x m = G - 1) by (unfold x; rewrite size, S_INR; ring).
  rewrite kappa_eq; unfold binomial_mean; cbn [sum].
  rewrite C_last, Nat.sub_diag, (end_value m last).
  enough (wrong ^ m * sqrt (G - 1)
          <= sum m (fun k => Binomial.C m k * right ^ k * wrong ^ (m - k) * ((G - 1) / sqrt (x k))))
    by (simpl (wrong ^ 0); lra).
  apply Rle_trans with
    (Binomial.C m 0 * right ^ 0 * wrong ^ (m - 0) * ((G - 1) / sqrt (x 0))).
  - rewrite C_first, Nat.sub_0_r, (end_value 0%nat first); simpl (right ^ 0); lra.
  - apply (sum_ge_term m (fun k => Binomial.C m k * right ^ k * wrong ^ (m - k)
                                   * ((G - 1) / sqrt (x k)))); [|lia].
    intros k inside; apply Rmult_le_pos; [apply weight_nonneg|].
    apply Rlt_le, Rdiv_lt_0_compat; [lra|apply sqrt_lt_R0].
    pose proof (x_least k ltac:(lia)); lra.
Qed.

(** A sum over k = 0, ..., G whose first and last term vanish. *)
Lemma sum_inner N f : f 0%nat = 0 -> f (S N) = 0 -> sum (S (S N)) f = sum N (fun j => f (S j)).
Proof. intros first last; rewrite sum_first, first; cbn [sum]; rewrite last; ring. Qed.

Lemma no_deviation_at_ends k : k = 0%nat \/ k = S (S m) -> INR k * (G - INR k) = 0.
Proof. intros [first|last]; subst k; [simpl; ring|unfold G; ring]. Qed.

(** Cauchy-Schwarz: (E s)^2 <= E s^2, with E s = kappa p (1 - p) and E s^2 = (1 - 1/G) p (1 - p). *)
Lemma mean_deviation :
  binomial_mean (S (S m)) right wrong (fun k => sqrt (INR k * (G - INR k)) / G) = gain * (right * wrong).
Proof.
  assert (2 <= G) by (rewrite size; pose proof (pos_INR m); lra).
  unfold binomial_mean; rewrite sum_inner.
  2: { rewrite no_deviation_at_ends, sqrt_0 by auto; field; lra. }
  2: { rewrite no_deviation_at_ends, sqrt_0 by auto; field; lra. }
  unfold gain, group_gain; replace (S (S m) - 1)%nat with (S m) by lia; fold G.
  simpl (INR 0); replace ((G - 0) / G) with 1 by (field; lra); rewrite sqrt_1, Rmult_1_r.
  rewrite <- sum_scal_r; apply sum_ext; intros j inside.
  replace (S (S m) - S j)%nat with (S (S m - S j)) by lia; simpl; ring.
Qed.

Lemma mean_variance :
  binomial_mean (S (S m)) right wrong
    (fun k => sqrt (INR k * (G - INR k)) / G * (sqrt (INR k * (G - INR k)) / G))
  = (1 - 1 / G) * (right * wrong).
Proof.
  assert (2 <= G) by (rewrite size; pose proof (pos_INR m); lra).
  unfold binomial_mean; rewrite sum_inner.
  2: { rewrite no_deviation_at_ends, sqrt_0 by auto; field; lra. }
  2: { rewrite no_deviation_at_ends, sqrt_0 by auto; field; lra. }
  transitivity (sum (S m) (fun j => (1 - 1 / G) * (right * wrong) * weight m right wrong j)).
  2: { rewrite sum_scal, weight_total; ring. }
  apply sum_ext; intros j inside; fold (x j).
  assert (0 < x j) by (pose proof (x_least j ltac:(lia)); lra).
  assert (square : sqrt (x j) * sqrt (x j) = x j) by (apply sqrt_sqrt; lra).
  pose proof (coefficient j ltac:(lia)) as same; unfold weight.
  replace (S (S m) - S j)%nat with (S (m - j)) by lia; simpl pow.
  transitivity (x j * Binomial.C (S (S m)) (S j) / (G * G)
                * (right * right ^ j) * (wrong * wrong ^ (m - j))).
  - set (r := sqrt (x j)) in *; rewrite <- square; field; lra.
  - rewrite same; field; lra.
Qed.

Lemma at_most_deviation : gain * gain * right * wrong <= 1 - 1 / G.
Proof.
  assert (2 <= G) by (rewrite size; pose proof (pos_INR m); lra).
  set (s := fun k : nat => sqrt (INR k * (G - INR k)) / G).
  pose proof (variance_nonneg (S (S (S m))) (weight (S (S m)) right wrong) s) as squares.
  rewrite covariance_eq, <- !binomial_mean_is_mean in squares by apply weight_total.
  unfold s in squares; rewrite mean_deviation, mean_variance in squares.
  specialize (squares (fun k _ => weight_nonneg _ k)).
  assert (0 <= right * wrong) by (apply Rmult_le_pos; assumption).
  destruct (Req_dec (right * wrong) 0) as [zero|nonzero].
  - replace (gain * gain * right * wrong) with (gain * gain * (right * wrong)) by ring.
    rewrite zero; assert (1 / G <= 1) by (apply (Rmult_le_reg_r G); [lra|field_simplify; lra]); lra.
  - apply (Rmult_le_reg_r (right * wrong)); lra.
Qed.

(** The mean of a quadratic function of the number of right ones. *)
Lemma mean_of_quadratic i : forall a b c,
  binomial_mean i right wrong (fun k => a + b * INR k + c * (INR k * INR k))
  = a + b * (INR i * right) + c * (INR i * right * wrong + INR i * INR i * (right * right)).
Proof.
  induction i as [|i IH]; intros a b c.
  - unfold binomial_mean; simpl; rewrite C_first; ring.
  - rewrite binomial_mean_step, IH.
    rewrite (binomial_mean_ext i right wrong _
      (fun k => a + b + c + (b + 2 * c) * INR k + c * (INR k * INR k))) by (intros; rewrite S_INR; ring).
    rewrite IH, S_INR; replace wrong with (1 - right) by lra; ring.
Qed.

(** Jensen's inequality for 1/sqrt, which lies above its tangents. *)
Lemma inverse_root_above_tangent u v : 0 < u -> 0 < v -> (3 - u / v) / (2 * sqrt v) <= 1 / sqrt u.
Proof.
  intros u_positive v_positive.
  pose proof (sqrt_lt_R0 u u_positive); pose proof (sqrt_lt_R0 v v_positive).
  rewrite <- (sqrt_sqrt u) at 1 by lra; rewrite <- (sqrt_sqrt v) at 1 by lra.
  set (s := sqrt v) in *; set (t := sqrt u) in *.
  apply (Rmult_le_reg_r (2 * s * s * s * t)); [repeat apply Rmult_lt_0_compat; lra|].
  replace ((3 - t * t / (s * s)) / (2 * s) * (2 * s * s * s * t)) with (3 * s * s * t - t * t * t) by (field; lra).
  replace (1 / t * (2 * s * s * s * t)) with (2 * s * s * s) by (field; lra).
  assert (0 <= (s - t) * (s - t) * (2 * s + t)) by (apply Rmult_le_pos; [apply Rle_0_sqr|lra]); lra.
Qed.

Lemma spread_positive : 0 < G - 1 + (G - 2) * (G - 3) * right * wrong.
Proof.
  rewrite size; pose proof (pos_INR m).
  replace ((INR m + 2 - 2) * (INR m + 2 - 3) * right * wrong) with (INR m * (INR m - 1) * (right * wrong)) by ring.
  assert (0 <= INR m * (INR m - 1)).
  { destruct m as [|k]; [simpl; lra|rewrite S_INR in *; pose proof (pos_INR k); apply Rmult_le_pos; lra]. }
  assert (0 <= right * wrong) by (apply Rmult_le_pos; assumption).
  assert (0 <= INR m * (INR m - 1) * (right * wrong)) by (apply Rmult_le_pos; assumption); lra.
Qed.

Lemma at_least_jensen : (G - 1) / sqrt (G - 1 + (G - 2) * (G - 3) * right * wrong) <= gain.
Proof.
  set (X := G - 1 + (G - 2) * (G - 3) * right * wrong).
  assert (X_eq : X = INR m + 1 + INR m * (INR m - 1) * (right * wrong)) by (unfold X; rewrite size; ring).
  assert (X_positive : 0 < X) by apply spread_positive.
  pose proof (sqrt_lt_R0 X X_positive) as root_positive; pose proof (pos_INR m).
  assert (G_eq := size); rewrite kappa_eq, binomial_mean_is_mean.
  set (d := (G - 1) / (2 * sqrt X)).
  apply Rle_trans with (binomial_mean m right wrong (fun k =>
    d * (3 - (INR m + 1) / X) + - (d * INR m / X) * INR k + d / X * (INR k * INR k))).
  - right; rewrite mean_of_quadratic; unfold d.
    transitivity ((G - 1) / (2 * sqrt X) * (3 - (INR m + 1 + INR m * (INR m - 1) * (right * wrong)) / X)).
    + rewrite <- X_eq; field; lra.
    + replace wrong with (1 - right) by lra; field; lra.
  - rewrite binomial_mean_is_mean; apply mean_le; [intros; apply weight_nonneg|intros j inside].
    assert (0 < x j) by (pose proof (x_least j ltac:(lia)); lra).
    apply Rle_trans with ((G - 1) * ((3 - x j / X) / (2 * sqrt X))).
    + right; unfold d, x; rewrite S_INR, G_eq; field; lra.
    + apply Rle_trans with ((G - 1) * (1 / sqrt (x j))); [|right; unfold Rdiv; ring].
      apply Rmult_le_compat_l; [lra|apply inverse_root_above_tangent; assumption].
Qed.

Section Mixed.

Hypothesis mixed : 0 < right * wrong.
Let root := sqrt (right * wrong).

Lemma root_positive : 0 < root.
Proof. apply sqrt_lt_R0, mixed. Qed.

Lemma root_square : root * root = right * wrong.
Proof. apply sqrt_sqrt; lra. Qed.

Lemma gain_positive : 0 < gain.
Proof.
  apply Rlt_le_trans with (2 := at_least_jensen); pose proof (pos_INR m); rewrite size at 1.
  apply Rdiv_lt_0_compat; [lra|apply sqrt_lt_R0, spread_positive].
Qed.

Lemma at_most_limit : gain <= 1 / root.
Proof.
  pose proof root_positive; pose proof at_most_deviation as below; pose proof (pos_INR m).
  apply (Rmult_le_reg_r root); [assumption|]; replace (1 / root * root) with 1 by (field; lra).
  destruct (Rle_lt_dec (gain * root) 1) as [|above]; [assumption|exfalso].
  assert (1 * 1 < gain * root * (gain * root)) as square by (apply Rmult_le_0_lt_compat; lra).
  replace (gain * root * (gain * root)) with (gain * gain * (root * root)) in square by ring.
  rewrite root_square in square.
  assert (0 < 1 / G) by (rewrite size; apply Rdiv_lt_0_compat; lra); lra.
Qed.

Lemma near_limit : 1 / root - gain <= 1 / (2 * (G - 1) * right * wrong * root).
Proof.
  pose proof root_positive; pose proof root_square as square; pose proof (pos_INR m); pose proof at_least_jensen as least.
  assert (G_eq := size); set (X := G - 1 + (G - 2) * (G - 3) * right * wrong) in *.
  assert (0 < X) as X_positive by apply spread_positive.
  assert (0 < (G - 1) * root) by (apply Rmult_lt_0_compat; lra).
  pose proof (inverse_root_above_tangent X ((G - 1) * root * ((G - 1) * root)) X_positive
    ltac:(apply Rmult_lt_0_compat; assumption)) as tangent.
  rewrite sqrt_square in tangent by lra.
  apply (Rmult_le_compat_l (G - 1)) in tangent; [|lra].
  replace ((G - 1) * (1 / sqrt X)) with ((G - 1) / sqrt X) in tangent by (unfold Rdiv; ring).
  enough (1 / root - (G - 1) * ((3 - X / ((G - 1) * root * ((G - 1) * root))) / (2 * ((G - 1) * root)))
          <= 1 / (2 * (G - 1) * right * wrong * root)) by lra.
  replace (2 * (G - 1) * right * wrong * root) with (2 * (G - 1) * (root * root) * root)
    by (rewrite square; ring).
  assert (X = G - 1 + (G - 2) * (G - 3) * (root * root)) as X_eq by (unfold X; rewrite square; ring).
  apply Rminus_le; rewrite X_eq.
  replace (_ - _) with (- ((3 * G - 5) / (2 * (G - 1) * (G - 1) * root))) by (field; lra).
  assert (0 < (3 * G - 5) / (2 * (G - 1) * (G - 1) * root)); [|lra].
  apply Rdiv_lt_0_compat; [lra|repeat apply Rmult_lt_0_compat; lra].
Qed.

End Mixed.

End Kappa.

(** Right and wrong change places. *)
Lemma sum_reversed n : forall f, sum n f = sum n (fun k => f (n - 1 - k)%nat).
Proof.
  induction n as [|n IH]; intros f; [reflexivity|].
  rewrite sum_first, IH; cbn [sum]; replace (S n - 1 - n)%nat with 0%nat by lia; rewrite Rplus_comm; f_equal.
  apply sum_ext; intros k inside; f_equal; lia.
Qed.

Lemma gain_symmetric G ddof right wrong : group_gain G ddof right wrong = group_gain G ddof wrong right.
Proof.
  unfold group_gain; f_equal; rewrite sum_reversed; apply sum_ext; intros j inside.
  replace (S (G - 1 - 1 - j)) with (G - S j)%nat by lia.
  replace (G - 1 - (G - S j))%nat with j by lia; replace (G - 1 - 1 - j)%nat with (G - 1 - S j)%nat by lia.
  rewrite <- pascal_step1, minus_INR by lia; f_equal; [|ring].
  f_equal; f_equal; f_equal; ring.
Qed.

Lemma bounds_of_gain :
  forall (n : nat) (logits : vector) (correct : mask) (G : nat),
  (1 <= n)%nat -> (3 <= G)%nat ->
  let right := total_on n correct (softmax n logits) in
  let wrong := total_on n (complement correct) (softmax n logits) in
  let gain := group_gain G 0 right wrong in
  2 - 2 / INR G <= gain
  /\ sqrt (INR G - 1) * (wrong ^ (G - 2) + right ^ (G - 2)) <= gain
  /\ gain <= sqrt (INR G - 1)
  /\ gain * gain * right * wrong <= 1 - 1 / INR G.
Proof.
  intros n logits correct G one_action three right wrong gain.
  destruct G as [|[|m]]; [lia|lia|]; replace (S (S m) - 2)%nat with m by lia.
  assert (all : right + wrong = 1) by (apply right_plus_wrong; lia).
  assert (nonneg : forall A, 0 <= total_on n A (softmax n logits)).
  { intros A; apply sum_nonneg; intros a _; unfold only; destruct (A a); [|lra].
    apply Rlt_le, softmax_pos; lia. }
  repeat split.
  - apply at_least_constant; [apply nonneg|apply nonneg|exact all].
  - apply at_least_ends; [apply nonneg|apply nonneg|lia].
  - apply at_most_root; [apply nonneg|apply nonneg|exact all].
  - apply at_most_deviation; [apply nonneg|apply nonneg|exact all].
Qed.
