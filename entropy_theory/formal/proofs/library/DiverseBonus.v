(** A bonus on the entropy H(q) among right answers, q the policy given the set A.

    With the surprise x = -(log q + H(q)) on A and zero elsewhere, the step p x (plain gradient) is
    q(A) grad H(q), and the step x (natural gradient) tempers q and leaves the rest. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons Contributions Divergence
  Masks Inequalities Clamping.
From PolicyEntropy.library Require Conditional Reward RewardRate.
Open Scope R_scope.

Section RightAnswers.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some_right : nonempty n A.

Let p := softmax n z.
Let mass := total_on n A p.
Let q := conditional n z A.

Definition surprise : vector := fun a => if A a then - centered n q z a else 0.

Lemma right_some : (0 < n)%nat.
Proof. apply (nonempty_inhabited n A some_right). Qed.

Lemma mass_pos : 0 < mass.
Proof. apply mass_positive, some_right. Qed.

Lemma q_sum : sum n q = 1.
Proof. apply conditional_total, some_right. Qed.

Lemma q_nonneg a : 0 <= q a.
Proof. apply conditional_nonneg, some_right. Qed.

Lemma q_pos a : A a = true -> 0 < q a.
Proof.
  intros member; pose proof mass_pos; pose proof (softmax_pos n z a right_some) as positive.
  rewrite (softmax_on_kept n z A some_right a member) in positive; fold p mass q in positive.
  apply Rmult_lt_reg_l with mass; [assumption|lra].
Qed.

Lemma q_surprise a : q a * surprise a = - clamped_tilt n z A a.
Proof.
  unfold surprise, clamped_tilt; fold q; destruct (A a) eqn:member; [ring|].
  unfold q; rewrite (conditional_off_kept n z A a member); ring.
Qed.

Lemma p_surprise a : p a * surprise a = mass * (q a * surprise a).
Proof.
  destruct (A a) eqn:member.
  - unfold p; rewrite (softmax_on_kept n z A some_right a member); fold p mass q; ring.
  - unfold surprise; rewrite member; ring.
Qed.

Lemma mean_surprise : mean n q surprise = 0.
Proof.
  unfold mean; rewrite (sum_ext n _ (fun a => - (q a * centered n q z a))).
  - rewrite sum_opp; fold (mean n q (centered n q z)); rewrite mean_centered by exact q_sum; ring.
  - intros a _; rewrite q_surprise; unfold clamped_tilt; fold q; ring.
Qed.

Lemma step_sum : sum n (fun a => p a * surprise a) = 0.
Proof.
  rewrite (sum_ext n _ (fun a => mass * (q a * surprise a))) by (intros; apply p_surprise).
  rewrite sum_scal; fold (mean n q surprise); rewrite mean_surprise; ring.
Qed.

Lemma mean_surprise_squared : mean n q (fun a => surprise a * surprise a) = covariance n q z z.
Proof.
  apply sum_ext; intros a _; unfold surprise; destruct (A a) eqn:member; [ring|].
  unfold q; rewrite (conditional_off_kept n z A a member); ring.
Qed.

(** * The entropy among right answers *)

Lemma log_q : exists c, (forall a, A a = true -> ln (q a) = z a + c) /\
                        clamped_entropy n z A = - mean n q z - c.
Proof.
  exists (- ln (sum n (fun b => exp (z b))) - ln mass).
  assert (each : forall a, A a = true -> ln (q a) = z a + (- ln (sum n (fun b => exp (z b))) - ln mass)).
  { intros a member; unfold q, conditional, only; rewrite member; fold p mass.
    rewrite ln_div by (apply softmax_pos, right_some || apply mass_pos).
    change (ln (p a)) with (log_softmax n z a); rewrite log_softmax_eq by exact right_some; ring. }
  split; [exact each|].
  unfold clamped_entropy; fold q; set (c := - ln (sum n (fun b => exp (z b))) - ln mass) in *.
  replace (total_on n A (fun a => q a * ln (q a))) with (mean n q (fun a => z a + c)).
  - rewrite mean_plus, mean_const by exact q_sum; ring.
  - unfold mean, total_on; apply sum_ext; intros a _; unfold only; destruct (A a) eqn:member.
    + rewrite each by assumption; ring.
    + unfold q; rewrite (conditional_off_kept n z A a member); ring.
Qed.

Lemma surprise_log a : A a = true -> surprise a = - (ln (q a) + clamped_entropy n z A).
Proof.
  intros member; destruct log_q as [c [each total]].
  unfold surprise; rewrite member, each, total by assumption; unfold centered; ring.
Qed.

(** The same, computed from the largest right logit on. *)
Lemma diversity_eq :
  ln (total_on n A (fun a => exp (if A a then z a - largest_on n A z else 0)))
  - mean n q (fun a => if A a then z a - largest_on n A z else 0) = clamped_entropy n z A.
Proof.
  set (M := largest_on n A z); rewrite clamped_entropy_eq by exact some_right.
  set (Z := total_on n A (fun a => exp (z a))).
  assert (Z_positive : 0 < Z) by (apply total_on_pos; [exact some_right|intros; apply exp_pos]).
  assert (shifted : total_on n A (fun a => exp (if A a then z a - M else 0)) = Z * exp (- M)).
  { unfold Z; rewrite <- total_on_scal_r; apply sum_ext; intros a _; unfold only.
    destruct (A a); [unfold Rminus; apply exp_plus|reflexivity]. }
  rewrite shifted, ln_mult, ln_exp by (assumption || apply exp_pos).
  assert (share : forall a, A a = true -> q a = exp (z a) / Z).
  { intros a member; pose proof (normalizer_pos n z right_some).
    unfold q, conditional, only; rewrite member.
    replace (total_on n A (softmax n z)) with (Z / sum n (fun b => exp (z b))).
    - unfold softmax; field; lra.
    - unfold Z, total_on; rewrite <- sum_div; apply sum_ext; intros b _; unfold only, softmax.
      destruct (A b); [reflexivity|unfold Rdiv; ring]. }
  assert (average : mean n q (fun a => if A a then z a - M else 0)
                    = total_on n A (fun a => exp (z a) * z a) / Z - M).
  { transitivity (mean n q (fun a => z a - M)).
    - apply sum_ext; intros a _; destruct (A a) eqn:member; [reflexivity|].
      unfold q; rewrite (conditional_off_kept n z A a member); ring.
    - rewrite mean_minus, mean_const by exact q_sum; f_equal.
      unfold mean, total_on; rewrite <- sum_div; apply sum_ext; intros a _; unfold only.
      destruct (A a) eqn:member; [rewrite share by assumption; field; lra|].
      unfold q; rewrite (conditional_off_kept n z A a member); unfold Rdiv; ring. }
  rewrite average; ring.
Qed.

Lemma q_at_most_1 a : (a < n)%nat -> q a <= 1.
Proof.
  intros inside; rewrite <- q_sum; apply sum_ge_term; [intros; apply q_nonneg|exact inside].
Qed.

Lemma log_q_nonpos a : (a < n)%nat -> A a = true -> ln (q a) <= 0.
Proof. intros inside member; apply ln_nonpos; [apply q_pos, member|apply q_at_most_1, inside]. Qed.

Lemma diversity_nonneg : 0 <= clamped_entropy n z A.
Proof.
  unfold clamped_entropy; fold q.
  assert (total_on n A (fun a => q a * ln (q a)) <= total_on n A (fun _ => 0)) as below.
  { apply Masks.total_on_le; intros a inside member.
    pose proof (log_q_nonpos a inside member); pose proof (q_pos a member).
    assert (0 <= q a * - ln (q a)) by (apply Rmult_le_pos; lra); lra. }
  rewrite total_on_zero in below; lra.
Qed.

(** * Rates along a direction *)

Lemma diversity_slope v :
  derivative (fun t => clamped_entropy n (fun a => z a + t * v a) A) 0
    (sum n (fun a => q a * surprise a * v a)).
Proof.
  replace (sum n (fun a => q a * surprise a * v a)) with (- sum n (fun a => clamped_tilt n z A a * v a)).
  - apply tilt_is_gradient, some_right.
  - rewrite <- sum_opp; apply sum_ext; intros a _; rewrite q_surprise; ring.
Qed.

Lemma entropy_slope v :
  derivative (fun t => entropy n (fun a => z a + t * v a)) 0 (- sum n (fun a => own_covariance n z a * v a)).
Proof.
  replace (- sum n (fun a => own_covariance n z a * v a)) with (first_order n z v).
  - apply first_order_is_derivative, right_some.
  - rewrite first_order_eq by exact right_some; f_equal; apply sum_ext; intros a _.
    unfold own_covariance; ring.
Qed.

Lemma reward_slope v :
  (forall a, A a = false -> v a = 0) ->
  derivative (fun t => total_on n A (softmax n (fun a => z a + t * v a))) 0
    ((1 - mass) * sum n (fun a => p a * v a)).
Proof.
  intros outside.
  replace ((1 - mass) * sum n (fun a => p a * v a)) with (covariance n p (Reward.hit A) v).
  - apply derivative_of_is_derive.
    apply (RewardRate.is_derive_reward n z A v right_some).
  - rewrite covariance_eq by (apply softmax_sum, right_some).
    assert (mean n p (fun a => Reward.hit A a * v a) = mean n p v) as on_right.
    { apply sum_ext; intros a _; unfold Reward.hit, only; destruct (A a) eqn:member; [ring|].
      rewrite outside by assumption; ring. }
    assert (mean n p (Reward.hit A) = mass) as right.
    { unfold mass, total_on; apply sum_ext; intros a _; unfold Reward.hit, only; destruct (A a); ring. }
    rewrite on_right, right; unfold mean; ring.
Qed.

(** * The plain gradient *)

Lemma plain_rate :
  sum n (fun a => q a * surprise a * (p a * surprise a))
  = mass * sum n (fun a => (q a * surprise a) * (q a * surprise a)).
Proof.
  rewrite <- sum_scal; apply sum_ext; intros a _; rewrite p_surprise; ring.
Qed.

Lemma plain_rate_nonneg : 0 <= sum n (fun a => q a * surprise a * (p a * surprise a)).
Proof.
  rewrite plain_rate; apply Rmult_le_pos; [apply Rlt_le, mass_pos|].
  apply sum_nonneg; intros; apply Rle_0_sqr.
Qed.

Lemma largest_is_smallest c :
  (forall a, (a < n)%nat -> A a = true -> z a = c) -> largest_on n A z = smallest_on n A z.
Proof.
  intros same.
  destruct (Masks.largest_on_attained n A z some_right) as [a [a_inside [a_right ->]]].
  destruct (Masks.smallest_on_attained n A z some_right) as [b [b_inside [b_right ->]]].
  rewrite !same by assumption; reflexivity.
Qed.

Lemma plain_rate_zero :
  sum n (fun a => q a * surprise a * (p a * surprise a)) = 0 -> largest_on n A z = smallest_on n A z.
Proof.
  rewrite plain_rate; intros zero; pose proof mass_pos as positive.
  assert (sum n (fun a => (q a * surprise a) * (q a * surprise a)) = 0) as squares.
  { apply Rmult_eq_reg_l with mass; lra. }
  apply largest_is_smallest with (mean n q z); intros a inside member.
  pose proof (sum_nonneg_zero n _ (fun b _ => Rle_0_sqr (q b * surprise b)) squares a inside) as each.
  apply Rsqr_0_uniq in each.
  pose proof (q_pos a member).
  assert (surprise a = 0) as none by (apply Rmult_eq_reg_l with (q a); lra).
  unfold surprise in none; rewrite member in none; unfold centered in none; lra.
Qed.

Lemma ordered a b : (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true ->
  0 <= (q a - q b) * (z a - z b).
Proof.
  intros _ _ a_right b_right.
  replace ((q a - q b) * (z a - z b)) with (/ mass * ((z a - z b) * (p a - p b))).
  - apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat, mass_pos|].
    apply softmax_same_order, right_some.
  - unfold p; rewrite !(softmax_on_kept n z A some_right) by assumption; fold p mass q.
    pose proof mass_pos; field; lra.
Qed.

Lemma weighted_covariance : covariance n q q z = mean n q (fun a => q a * centered n q z a).
Proof.
  rewrite covariance_sym, covariance_centered_l by exact q_sum; apply mean_ext; intros; ring.
Qed.

Lemma weighted_surprise :
  sum n (fun a => p a * (p a * surprise a)) = - (mass * mass * covariance n q q z).
Proof.
  rewrite weighted_covariance; unfold mean; rewrite <- sum_scal, <- sum_opp.
  apply sum_ext; intros a _; destruct (A a) eqn:member.
  - rewrite p_surprise; unfold p; rewrite (softmax_on_kept n z A some_right a member); fold p mass q.
    rewrite <- Rmult_assoc; unfold surprise; rewrite member; ring.
  - unfold surprise; rewrite member; unfold q; rewrite (conditional_off_kept n z A a member); ring.
Qed.

Lemma price_pairs : 2 * covariance n q q z
  = sum n (fun a => sum n (fun b => q a * q b * ((q a - q b) * (z a - z b)))).
Proof. apply covariance_pairs, q_sum. Qed.

Lemma price_term a b : (a < n)%nat -> (b < n)%nat -> 0 <= q a * q b * ((q a - q b) * (z a - z b)).
Proof.
  intros a_inside b_inside.
  destruct (A a) eqn:a_right;
    [|unfold q at 1; rewrite (conditional_off_kept n z A a a_right); right; ring].
  destruct (A b) eqn:b_right;
    [|unfold q at 2; rewrite (conditional_off_kept n z A b b_right); right; ring].
  apply Rmult_le_pos; [apply Rmult_le_pos; apply q_nonneg|apply ordered; assumption].
Qed.

Lemma price_nonneg : 0 <= covariance n q q z.
Proof.
  apply Rmult_le_reg_l with 2; [lra|]; rewrite Rmult_0_r, price_pairs.
  apply sum_nonneg; intros; apply sum_nonneg; intros; apply price_term; assumption.
Qed.

Lemma price_at_most : covariance n q q z <= clamped_entropy n z A.
Proof.
  pose proof diversity_nonneg as H_nonneg; rewrite weighted_covariance.
  rewrite <- (mean_const n q (clamped_entropy n z A)) at 1 by exact q_sum.
  apply sum_le; intros a inside; destruct (A a) eqn:member.
  - pose proof (surprise_log a member) as form; unfold surprise in form; rewrite member in form.
    pose proof (log_q_nonpos a inside member); pose proof (q_pos a member).
    pose proof (q_at_most_1 a inside).
    apply Rmult_le_compat_l; [lra|].
    replace (centered n q z a) with (ln (q a) + clamped_entropy n z A) by lra.
    assert (0 <= q a * - ln (q a)) by (apply Rmult_le_pos; lra).
    assert (0 <= (1 - q a) * clamped_entropy n z A) by (apply Rmult_le_pos; lra).
    lra.
  - unfold q; rewrite (conditional_off_kept n z A a member); lra.
Qed.

Lemma price_zero : covariance n q q z = 0 -> largest_on n A z = smallest_on n A z.
Proof.
  intros zero; pose proof price_pairs as pairs; rewrite zero, Rmult_0_r in pairs; symmetry in pairs.
  destruct some_right as [k [k_inside k_right]].
  apply largest_is_smallest with (z k); intros a inside member.
  pose proof (sum_nonneg_zero n _ (fun d d_inside => sum_nonneg n _ (fun e e_inside =>
    price_term d e d_inside e_inside)) pairs a inside) as row; simpl in row.
  pose proof (sum_nonneg_zero n _ (fun e e_inside => price_term a e inside e_inside) row k k_inside) as each.
  simpl in each; pose proof (q_pos a member); pose proof (q_pos k k_right).
  assert ((q a - q k) * (z a - z k) = 0) as product.
  { apply Rmult_eq_reg_l with (q a * q k); [rewrite each; ring|].
    apply Rgt_not_eq, Rmult_lt_0_compat; assumption. }
  apply Rmult_integral in product; destruct product as [same|same]; [|lra].
  assert (p a = p k) as likely.
  { unfold p; rewrite !(softmax_on_kept n z A some_right) by assumption; fold p mass q.
    replace (q a) with (q k) by lra; reflexivity. }
  destruct (Rtotal_order (z a) (z k)) as [below|[equal_logits|above]]; [|exact equal_logits|].
  - pose proof (softmax_lt n z a k right_some below); unfold p in likely; lra.
  - pose proof (softmax_lt n z k a right_some above); unfold p in likely; lra.
Qed.

Lemma wrong_mass : total_on n (fun a => negb (A a)) p = 1 - mass.
Proof.
  assert (mass + total_on n (fun a => negb (A a)) p = 1); [|lra].
  unfold mass, total_on; rewrite <- sum_plus, <- (softmax_sum n z right_some).
  apply sum_ext; intros a _; unfold only; destruct (A a); simpl; unfold p; ring.
Qed.

(** * The natural gradient *)

Lemma covariance_z_surprise : sum n (fun a => own_covariance n z a * surprise a)
  = - (mass * covariance n q z z).
Proof.
  assert (sum n (fun a => own_covariance n z a * surprise a)
          = sum n (fun a => p a * surprise a * z a) - mean n p z * sum n (fun a => p a * surprise a)) as split.
  { rewrite <- sum_scal, <- sum_minus; apply sum_ext; intros a _.
    unfold own_covariance, centered; fold p; ring. }
  rewrite split, step_sum.
  assert (covariance n q z z = - sum n (fun a => q a * surprise a * z a)) as varies.
  { rewrite covariance_centered_l by exact q_sum; unfold mean; rewrite <- sum_opp.
    apply sum_ext; intros a _; rewrite q_surprise; unfold clamped_tilt; fold q; ring. }
  rewrite varies, (sum_ext n (fun a => p a * surprise a * z a) (fun a => mass * (q a * surprise a * z a))).
  - rewrite sum_scal; ring.
  - intros a _; rewrite p_surprise; ring.
Qed.

Lemma growth_at_least_1 c : 1 <= mean n q (fun a => exp (c * surprise a)).
Proof.
  replace 1 with (exp (mean n q (fun a => c * surprise a))).
  - apply jensen_exp; [intros; apply q_nonneg|exact q_sum].
  - rewrite mean_scal, mean_surprise, Rmult_0_r; apply exp_0.
Qed.

Lemma reward_after c :
  total_on n A (softmax n (fun a => z a + c * surprise a))
  = mass * mean n q (fun a => exp (c * surprise a))
    / (1 - mass + mass * mean n q (fun a => exp (c * surprise a))).
Proof.
  set (g := mean n q (fun a => exp (c * surprise a))).
  set (Z := sum n (fun b => exp (z b))).
  pose proof (normalizer_pos n z right_some) as Z_positive; fold Z in Z_positive.
  pose proof (growth_at_least_1 c) as grows; fold g in grows.
  pose proof mass_pos as positive.
  assert (right : total_on n A (fun a => exp (z a + c * surprise a)) = Z * (mass * g)).
  { unfold g, mean; rewrite <- sum_scal, <- sum_scal; unfold total_on.
    apply sum_ext; intros a _; unfold only; destruct (A a) eqn:member.
    - rewrite exp_plus.
      replace (Z * (mass * (q a * exp (c * surprise a)))) with (Z * (mass * q a) * exp (c * surprise a)) by ring.
      pose proof (softmax_on_kept n z A some_right a member) as share; fold p mass q in share.
      rewrite <- share; unfold p, softmax; fold Z; field; lra.
    - unfold q; rewrite (conditional_off_kept n z A a member); ring. }
  assert (wrong : total_on n (complement A) (fun a => exp (z a + c * surprise a)) = Z * (1 - mass)).
  { rewrite <- wrong_mass; unfold total_on; rewrite <- sum_scal.
    apply sum_ext; intros a _; unfold only, complement; destruct (A a) eqn:member; simpl; [ring|].
    unfold surprise, p, softmax; rewrite member; fold Z.
    replace (z a + c * 0) with (z a) by ring; field; lra. }
  assert (whole : sum n (fun b => exp (z b + c * surprise b)) = Z * (1 - mass + mass * g)).
  { rewrite (Inequalities.total_on_split n A), right, wrong; ring. }
  assert (below : mass <= 1).
  { pose proof wrong_mass as rest.
    assert (0 <= total_on n (fun a => negb (A a)) p); [|lra].
    unfold total_on; apply sum_nonneg; intros a _; unfold only; destruct (negb (A a)); [|lra].
    apply Rlt_le, softmax_pos, right_some. }
  assert (0 < mass * g) by (apply Rmult_lt_0_compat; lra).
  transitivity (total_on n A (fun a => exp (z a + c * surprise a))
                / sum n (fun b => exp (z b + c * surprise b))).
  - unfold total_on; rewrite <- sum_div; apply sum_ext; intros a _; unfold only, softmax.
    destruct (A a); [reflexivity|unfold Rdiv; ring].
  - rewrite right, whole; field; lra.
Qed.

End RightAnswers.

(** Along the natural step q is tempered, and H(q) rises until it is uniform. *)
Section Tempering.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some_right : nonempty n A.

Let x := surprise n z A.
Let at_time (t : R) : vector := fun a => z a + t * x a.

Lemma tempered_slope t :
  sum n (fun a => conditional n (at_time t) A a * surprise n (at_time t) A a * x a)
  = (1 - t) * covariance n (conditional n (at_time t) A) z z.
Proof.
  set (q := conditional n (at_time t) A).
  assert (one : sum n q = 1) by (apply conditional_total, some_right).
  assert (removed : forall a, A a = false -> q a = 0) by (intros; apply conditional_off_kept; assumption).
  set (m := mean n (conditional n z A) z).
  assert (kept : forall a, A a = true -> at_time t a = (1 - t) * z a + t * m).
  { intros a member; unfold at_time, x, surprise; rewrite member; unfold centered; fold m; ring. }
  assert (average : mean n q (at_time t) = (1 - t) * mean n q z + t * m).
  { transitivity (mean n q (fun a => (1 - t) * z a + t * m)).
    - apply sum_ext; intros a _; destruct (A a) eqn:member; [rewrite kept by assumption; ring|].
      rewrite removed by assumption; ring.
    - rewrite mean_plus, mean_scal, mean_const by exact one; ring. }
  transitivity (mean n q (fun a => (1 - t) * (centered n q z a * (z a - m)))).
  - apply sum_ext; intros a _; fold q; destruct (A a) eqn:member.
    + unfold surprise, x, surprise; rewrite member; fold q; unfold centered; fold m.
      rewrite average, kept by assumption; ring.
    + rewrite removed by assumption; ring.
  - rewrite mean_scal; f_equal.
    transitivity (mean n q (fun a => centered n q z a * z a) - m * mean n q (centered n q z)).
    + rewrite <- mean_scal, <- mean_minus; apply mean_ext; intros; ring.
    + rewrite mean_centered by exact one; rewrite covariance_centered_l by exact one; ring.
Qed.

Lemma diversity_slope_later t :
  is_derive (fun s => clamped_entropy n (at_time s) A) t
    ((1 - t) * covariance n (conditional n (at_time t) A) z z).
Proof.
  rewrite <- tempered_slope.
  pose proof (diversity_slope n (at_time t) A some_right x) as slope.
  apply is_derive_Reals in slope.
  apply is_derive_ext with (f := fun s => clamped_entropy n (fun a => at_time t a + (s - t) * x a) A).
  { intros s; unfold clamped_entropy, conditional; f_equal.
    assert (same : forall a, at_time t a + (s - t) * x a = at_time s a) by (intros; unfold at_time; ring).
    assert (soft : forall a, (a < n)%nat -> softmax n (fun b => at_time t b + (s - t) * x b) a
                             = softmax n (at_time s) a)
      by (intros a inside; apply softmax_ext; [intros; apply same|exact inside]).
    assert (total : total_on n A (softmax n (fun b => at_time t b + (s - t) * x b))
                    = total_on n A (softmax n (at_time s)))
      by (apply total_on_ext; intros; apply soft; assumption).
    apply total_on_ext; intros a inside member; rewrite total; unfold only; rewrite member.
    rewrite soft by assumption; reflexivity. }
  evar_last.
  - apply (is_derive_comp (fun u => clamped_entropy n (fun a => at_time t a + u * x a) A)
             (fun s => s - t)).
    + replace (t - t) with 0 by ring; exact slope.
    + auto_derive; [trivial|reflexivity].
  - unfold scal; simpl; unfold mult; simpl; ring.
Qed.

Lemma tempering_raises c : 0 <= c -> c <= 1 ->
  clamped_entropy n z A <= clamped_entropy n (at_time c) A.
Proof.
  intros nonneg small.
  pose proof (increasing_from_slope (fun s => clamped_entropy n (at_time s) A)
    (fun t => (1 - t) * covariance n (conditional n (at_time t) A) z z) 0 c nonneg
    (fun t _ => diversity_slope_later t)) as rises.
  assert (start : clamped_entropy n (at_time 0) A = clamped_entropy n z A).
  { rewrite !clamped_entropy_eq by exact some_right.
    assert (same : forall a, at_time 0 a = z a) by (intros; unfold at_time; ring).
    assert (weights : total_on n A (fun a => exp (at_time 0 a)) = total_on n A (fun a => exp (z a)))
      by (apply total_on_ext; intros; rewrite same; reflexivity).
    assert (weighted : total_on n A (fun a => exp (at_time 0 a) * at_time 0 a)
                       = total_on n A (fun a => exp (z a) * z a))
      by (apply total_on_ext; intros; rewrite same; reflexivity).
    rewrite weights, weighted; reflexivity. }
  rewrite <- start; apply rises; intros t between.
  apply Rmult_le_pos; [lra|].
  apply variance_nonneg; intros; apply conditional_nonneg, some_right.
Qed.

End Tempering.
