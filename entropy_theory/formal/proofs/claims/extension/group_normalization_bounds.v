(** Extension of AEPO, section 3.1 (GRPO's advantage): for groups of G >= 3, kappa lies between
    max(2 (1 - 1/G), sqrt(G - 1) ((1 - p)^{G-2} + p^{G-2})) and min(sqrt(G - 1), sqrt((1 - 1/G)/(p (1 - p)))). *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Masks RewardGroups GroupGain.
From Trusted.Statements.extension Require group_normalization_bounds.
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

End Kappa.

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

(** With the numbers of one group size. *)
Lemma bounds_at n logits correct G size root :
  (1 <= n)%nat -> (3 <= G)%nat -> INR G = size -> size - 1 = root ->
  let right := total_on n correct (softmax n logits) in
  let wrong := total_on n (complement correct) (softmax n logits) in
  let gain := group_gain G 0 right wrong in
  2 - 2 / size <= gain
  /\ sqrt root * (wrong ^ (G - 2) + right ^ (G - 2)) <= gain
  /\ gain <= sqrt root
  /\ gain * gain * right * wrong <= 1 - 1 / size.
Proof. intros one_action three same before; rewrite <- before, <- same; apply bounds_of_gain; assumption. Qed.

(** How the statement writes a power of a positive number. *)
Lemma power_form x G : 0 < x -> (2 <= G)%nat -> exp ((INR G - 2) * ln x) = x ^ (G - 2).
Proof.
  intros positive two; rewrite <- Rpower_pow by assumption; unfold Rpower; do 2 f_equal.
  rewrite minus_INR by assumption; reflexivity.
Qed.

Theorem proved : Statements.extension.group_normalization_bounds.statement.
Proof.
  intros n logits correct two some not_all.
  assert (one_action : (1 <= n)%nat) by lia.
  destruct (bounds_at n logits correct 4 4 3 one_action) as [? [? [? ?]]];
    [lia|rewrite INR_IZR_INZ; reflexivity|lra|].
  destruct (bounds_at n logits correct 8 8 7 one_action) as [? [? [? ?]]];
    [lia|rewrite INR_IZR_INZ; reflexivity|lra|].
  destruct (bounds_at n logits correct 16 16 15 one_action) as [? [? [? ?]]];
    [lia|rewrite INR_IZR_INZ; reflexivity|lra|].
  destruct (bounds_at n logits correct 64 64 63 one_action) as [? [? [? ?]]];
    [lia|rewrite INR_IZR_INZ; reflexivity|lra|].
  split; [repeat split; assumption|].
  intros G three.
  assert (at_least_three : (3 <= G)%nat) by (apply INR_le; simpl; lra).
  destruct (bounds_of_gain n logits correct G one_action at_least_three) as (constant & ends & root & deviation).
  assert (mass : forall A, nonempty n A -> 0 < total_on n A (softmax n logits)).
  { intros A nonempty_A; apply total_on_pos; [exact nonempty_A|intros; apply softmax_pos; lia]. }
  pose proof (mass correct some); pose proof (mass _ (some_wrong n correct not_all)).
  rewrite !power_form by (assumption || lia).
  exact (conj (conj (conj constant ends) root) deviation).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.group_normalization_bounds.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem witness_1 : Statements.extension.group_normalization_bounds.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); do 3 (split; [witnessed|]); exists 3%nat; witnessed.
Qed.

Theorem defined : Statements.extension.group_normalization_bounds.defined.
Proof. domains. Qed.
