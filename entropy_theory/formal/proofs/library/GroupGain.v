(** The expected GRPO step is a multiple of the gradient of the success probability: the advantages of a group with
    k right members, and their mean over all groups. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons RewardGroups.
Import ListNotations.
Open Scope R_scope.

(** The gradient of p = pi(correct). *)
Definition success_gradient (n : nat) (z : vector) (correct : mask) : vector := fun a =>
  only correct (softmax n z) a - total_on n correct (softmax n z) * softmax n z a.

Lemma success_gradient_is_gradient n z correct v :
  (0 < n)%nat ->
  derivative (fun t => total_on n correct (softmax n (fun b => z b + t * v b))) 0
    (sum n (fun a => success_gradient n z correct a * v a)).
Proof.
  intros some; apply derivative_of_is_derive.
  assert (same : forall b, (b < n)%nat -> softmax n (fun c => z c + 0 * v c) b = softmax n z b)
    by (intros; apply softmax_ext; [intros; ring|assumption]).
  evar_last.
  - apply (is_derive_sum n (fun t => only correct (softmax n (fun b => z b + t * v b)))
      (only correct (fun a => softmax n (fun c => z c + 0 * v c) a
         * centered n (softmax n (fun c => z c + 0 * v c)) v a))).
    intros a inside; unfold only; destruct (correct a); [|apply @is_derive_const].
    apply (is_derive_softmax n (fun t b => z b + t * v b) v 0 some); [|exact inside].
    intros; auto_derive; [trivial|ring].
  - unfold centered, mean.
    rewrite (sum_ext n (fun b => softmax n (fun c => z c + 0 * v c) b * v b)
               (fun b => softmax n z b * v b)) by (intros; rewrite same; auto).
    set (average := sum n (fun b => softmax n z b * v b)).
    transitivity (sum n (fun a => only correct (softmax n z) a * v a)
                  - total_on n correct (softmax n z) * average).
    + unfold total_on; rewrite <- sum_scal_r, <- sum_minus.
      apply sum_ext; intros a inside; unfold only; destruct (correct a); [|ring].
      rewrite same by exact inside; ring.
    + unfold average; rewrite <- sum_scal, <- sum_minus.
      apply sum_ext; intros; unfold success_gradient; ring.
Qed.

Section OneGroup.

(** A group of G members with k right ones. *)
Variables (ddof : nat) (correct : mask) (g : state).
Let G := INR (length g).
Let k := INR (hits correct g).
Hypothesis enough : (ddof < length g)%nat.

Lemma size_positive : 0 < G.
Proof. apply lt_0_INR; lia. Qed.

Lemma freedom_positive : 0 < G - INR ddof.
Proof. apply lt_INR in enough; unfold G; lra. Qed.

Lemma group_mean_eq : mean_of_group correct g = k / G.
Proof. unfold mean_of_group; rewrite total_over_kinds; unfold k, G; f_equal; ring. Qed.

Lemma group_variance_eq : group_variance ddof correct g = k * (G - k) / (G * (G - INR ddof)).
Proof.
  unfold group_variance; rewrite group_mean_eq.
  rewrite (total_over_ext g _
    (fun b => if correct b then (1 - k / G) * (1 - k / G) else (0 - k / G) * (0 - k / G)))
    by (intros b; destruct (correct b); reflexivity).
  rewrite total_over_kinds; fold k G.
  pose proof size_positive; pose proof freedom_positive; field; lra.
Qed.

Lemma advantages_sum_to_zero : total_over g (group_advantage ddof correct g) = 0.
Proof.
  unfold group_advantage; destruct (less 0 (group_variance ddof correct g)).
  - rewrite (total_over_ext g _ (fun b => / sqrt (group_variance ddof correct g)
              * (if correct b then 1 - k / G else 0 - k / G))).
    + rewrite total_over_scal, total_over_kinds; fold k G.
      replace (k * (1 - k / G) + (G - k) * (0 - k / G)) with 0; [ring|].
      pose proof size_positive; field; lra.
    + intros b; rewrite group_mean_eq; unfold Rdiv; destruct (correct b); ring.
  - rewrite (total_over_ext g _ (fun b => 0 * 0)), total_over_scal by (intros; ring); ring.
Qed.

End OneGroup.

(** The advantage of a response of a's kind in a group of G with k right ones. *)
Definition advantage_of (G ddof : nat) (own : R) (k : nat) : R :=
  let variance := INR k * (INR G - INR k) / (INR G * (INR G - INR ddof)) in
  if less 0 variance then (own - INR k / INR G) / sqrt variance else 0.

Lemma expected_step_eq n G ddof z correct a :
  (0 < n)%nat -> (ddof < G)%nat -> (a < n)%nat ->
  expected_group_step n G ddof z correct a
  = softmax n z a
    * binomial_mean (pred G) (total_on n correct (softmax n z))
        (total_on n (complement correct) (softmax n z))
        (fun k => advantage_of G ddof (if correct a then 1 else 0) ((if correct a then 1 else 0) + k)%nat).
Proof.
  intros some enough inside; unfold expected_group_step.
  rewrite (sum_responses_ext n G _
    (fun g => / INR G * (chance n z g * (advantage_of G ddof (if correct a then 1 else 0) (hits correct g)
                                          * total_over g (only (Nat.eqb a) (fun _ => 1)))))).
  - rewrite sum_responses_scal, mean_of_hits_and_count by assumption.
    assert (0 < INR G) by (apply lt_0_INR; lia).
    field; lra.
  - intros g size; rewrite <- size in enough.
    assert (total_over g (fun b =>
              group_advantage ddof correct g b * (only (Nat.eqb a) (fun _ => 1) b - softmax n z a))
            = advantage_of G ddof (if correct a then 1 else 0) (hits correct g)
              * total_over g (only (Nat.eqb a) (fun _ => 1))) as same; [|rewrite same; unfold chance; ring].
    rewrite (total_over_ext g _
      (fun b => advantage_of G ddof (if correct a then 1 else 0) (hits correct g)
                * only (Nat.eqb a) (fun _ => 1) b
                - softmax n z a * group_advantage ddof correct g b)).
    + rewrite total_over_minus, !total_over_scal, advantages_sum_to_zero by exact enough; ring.
    + intros b; unfold only; destruct (Nat.eqb_spec a b) as [own|other]; [|ring].
      subst b; unfold group_advantage, advantage_of.
      rewrite group_variance_eq, group_mean_eq, size by exact enough.
      destruct (less 0 _); ring.
Qed.

(** sqrt(x) sqrt((G - ddof)/G) is x/G over the root of the variance x/(G (G - ddof)). *)
Lemma over_deviation x G freedom :
  0 < x -> 0 < G -> 0 < freedom ->
  x / G / sqrt (x / (G * freedom)) = sqrt x * sqrt (freedom / G).
Proof.
  intros x_positive G_positive freedom_positive.
  assert (variance : 0 < x / (G * freedom))
    by (apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat]; assumption).
  assert (0 < sqrt (x / (G * freedom))) by apply sqrt_lt_R0, variance.
  apply (Rmult_eq_reg_r (sqrt (x / (G * freedom)))); [|lra].
  assert (0 < freedom / G) by (apply Rdiv_lt_0_compat; assumption).
  rewrite <- !sqrt_mult by (lra || (apply Rmult_le_pos; lra)).
  replace (x * (freedom / G) * (x / (G * freedom))) with (x / G * (x / G)) by (field; lra).
  rewrite sqrt_square; [field; lra|apply Rlt_le, Rdiv_lt_0_compat; assumption].
Qed.

Lemma advantage_of_mixed G ddof own k :
  (0 < k)%nat -> (k < G)%nat -> (ddof < G)%nat ->
  advantage_of G ddof own k
  = (own - INR k / INR G)
    / sqrt (INR k * (INR G - INR k) / (INR G * (INR G - INR ddof))).
Proof.
  intros k_positive k_small enough; apply lt_INR in k_small, enough; apply lt_0_INR in k_positive.
  unfold advantage_of; cbv zeta.
  replace (less 0 _) with true; [reflexivity|symmetry; apply is_less].
  apply Rdiv_lt_0_compat; apply Rmult_lt_0_compat; lra.
Qed.

Lemma advantage_of_equal G ddof own k :
  k = 0%nat \/ k = G -> advantage_of G ddof own k = 0.
Proof.
  intros equal; unfold advantage_of; cbv zeta.
  replace (less 0 _) with false; [reflexivity|symmetry; apply is_not_less].
  replace (INR k * (INR G - INR k)) with 0; [unfold Rdiv; lra|].
  destruct equal; subst k; simpl; ring.
Qed.

Lemma C_below m j : (j <= m)%nat -> INR (S m) * Binomial.C m j = INR (S j) * Binomial.C (S m) (S j).
Proof.
  intros order; unfold Binomial.C; replace (S m - S j)%nat with (m - j)%nat by lia.
  change (fact (S m)) with (S m * fact m)%nat; change (fact (S j)) with (S j * fact j)%nat.
  rewrite !mult_INR; pose proof (INR_fact_neq_0 j); pose proof (INR_fact_neq_0 (m - j)).
  assert (INR (S j) <> 0) by (apply not_0_INR; lia).
  field; auto.
Qed.

Lemma C_beside m j :
  (S j <= m)%nat -> INR (S m) * Binomial.C m (S j) = (INR (S m) - INR (S j)) * Binomial.C (S m) (S j).
Proof.
  intros order; unfold Binomial.C; replace (S m - S j)%nat with (S (m - S j)) by lia.
  replace (INR (S m) - INR (S j)) with (INR (S (m - S j))).
  2: { rewrite <- minus_INR by lia; f_equal; lia. }
  change (fact (S m)) with (S m * fact m)%nat.
  change (fact (S (m - S j))) with (S (m - S j) * fact (m - S j))%nat.
  rewrite !mult_INR; pose proof (INR_fact_neq_0 (S j)); pose proof (INR_fact_neq_0 (m - S j)).
  assert (INR (S (m - S j)) <> 0) by (apply not_0_INR; lia).
  field; auto.
Qed.

(** The mean advantage of a right response, whose group has 1 + k right ones, and of a wrong one. *)
Lemma mean_advantage_of_right m ddof right wrong :
  (ddof <= m)%nat ->
  binomial_mean m right wrong (fun k => advantage_of (S m) ddof 1 (1 + k))
  = group_gain (S m) ddof right wrong * wrong.
Proof.
  intros enough; unfold binomial_mean; cbn [sum].
  rewrite advantage_of_equal, Rmult_0_r, Rplus_0_r by (right; reflexivity).
  unfold group_gain; replace (S m - 1)%nat with m by lia.
  rewrite <- !sum_scal_r; apply sum_ext; intros j inside.
  change (1 + j)%nat with (S j); rewrite advantage_of_mixed by lia.
  replace (m - j)%nat with (S (m - S j)) by lia.
  assert (j_positive : 0 < INR (S j)) by (apply lt_0_INR; lia).
  assert (j_small : INR (S j) < INR (S m)) by (apply lt_INR; lia).
  assert (INR ddof < INR (S m)) by (apply lt_INR; lia).
  set (G := INR (S m)) in *; set (k := INR (S j)) in *.
  assert (root := over_deviation (k * (G - k)) G (G - INR ddof)).
  assert (Binomial.C m j = k / G * Binomial.C (S m) (S j)) as below.
  { apply (Rmult_eq_reg_l G); [|lra]; unfold G at 1; rewrite C_below by lia; fold k; field; lra. }
  rewrite below; simpl pow.
  transitivity (Binomial.C (S m) (S j) / G * (right ^ j * wrong ^ (m - S j)) * wrong
                * (k * (G - k) / G / sqrt (k * (G - k) / (G * (G - INR ddof))))).
  - assert (0 < sqrt (k * (G - k) / (G * (G - INR ddof)))).
    { apply sqrt_lt_R0, Rdiv_lt_0_compat; apply Rmult_lt_0_compat; lra. }
    field; lra.
  - rewrite root; [field; lra|apply Rmult_lt_0_compat; lra|lra|lra].
Qed.

Lemma mean_advantage_of_wrong m ddof right wrong :
  (ddof <= m)%nat ->
  binomial_mean m right wrong (fun k => advantage_of (S m) ddof 0 (0 + k))
  = - group_gain (S m) ddof right wrong * right.
Proof.
  intros enough; unfold binomial_mean; rewrite sum_first.
  rewrite advantage_of_equal, Rmult_0_r, Rplus_0_l by (left; reflexivity).
  unfold group_gain; replace (S m - 1)%nat with m by lia.
  rewrite Ropp_mult_distr_l_reverse, <- !sum_scal_r, <- sum_opp; apply sum_ext; intros j inside.
  change (0 + S j)%nat with (S j); rewrite advantage_of_mixed by lia.
  assert (j_positive : 0 < INR (S j)) by (apply lt_0_INR; lia).
  assert (j_small : INR (S j) < INR (S m)) by (apply lt_INR; lia).
  assert (INR ddof < INR (S m)) by (apply lt_INR; lia).
  set (G := INR (S m)) in *; set (k := INR (S j)) in *.
  assert (root := over_deviation (k * (G - k)) G (G - INR ddof)).
  assert (Binomial.C m (S j) = (G - k) / G * Binomial.C (S m) (S j)) as beside.
  { apply (Rmult_eq_reg_l G); [|lra]; unfold G at 1; rewrite C_beside by lia; fold G k; field; lra. }
  rewrite beside; simpl pow.
  transitivity (- (Binomial.C (S m) (S j) / G * (right ^ j * wrong ^ (m - S j)) * right
                * (k * (G - k) / G / sqrt (k * (G - k) / (G * (G - INR ddof)))))).
  - assert (0 < sqrt (k * (G - k) / (G * (G - INR ddof)))).
    { apply sqrt_lt_R0, Rdiv_lt_0_compat; apply Rmult_lt_0_compat; lra. }
    field; lra.
  - rewrite root; [field; lra|apply Rmult_lt_0_compat; lra|lra|lra].
Qed.

Theorem expected_group_step_is_gradient n z correct G ddof a :
  (1 <= n)%nat -> (ddof < G)%nat -> (a < n)%nat ->
  expected_group_step n G ddof z correct a
  = group_gain G ddof (total_on n correct (softmax n z)) (total_on n (complement correct) (softmax n z))
    * success_gradient n z correct a.
Proof.
  intros one_action enough inside; destruct G as [|m]; [lia|].
  rewrite expected_step_eq by (assumption || lia); cbn [pred].
  set (p := softmax n z); set (right := total_on n correct p).
  set (wrong := total_on n (complement correct) p).
  assert (right + wrong = 1) as all by (apply right_plus_wrong; lia).
  unfold success_gradient, only; fold p right.
  destruct (correct a).
  - rewrite mean_advantage_of_right by lia; replace wrong with (1 - right) by lra; ring.
  - rewrite mean_advantage_of_wrong by lia; ring.
Qed.
