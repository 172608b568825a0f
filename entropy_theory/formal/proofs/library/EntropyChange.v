(** What a finite step of the logits does to entropy: exactly, and to first and second order.

    pi' = softmax(z + d), w = pi'/pi, and pi_t = softmax(z + t d). For every step d:

      (E1)  H(pi') - H(pi) = -Cov_pi(w, log pi) - KL(pi' || pi)
      (E2)  H(pi') - H(pi) = -sum_a (pi'_a - pi_a) log pi'_a + KL(pi || pi')
      (E3)  H(pi') - H(pi) = -int_0^1 Cov_{pi_t}(log pi_t, d) dt,   KL(pi' || pi) = int_0^1 t Var_{pi_t}(d) dt

    and the first order is good up to a multiple of ||d||^2 that grows with log n:

      |H(z + d) - H(z) + Cov_pi(log pi, d)| <= (5/16 + (1/10) log n) ||d||^2 <= (1/4)(1 + log n) ||d||^2. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Taylor Curvature Spread CurvatureBounds.
Open Scope R_scope.

(** KL(softmax(from) || softmax(to)). *)
Definition divergence (n : nat) (from to : vector) : R :=
  mean n (softmax n from) (fun a => log_softmax n from a - log_softmax n to a).
(** pi'/pi *)
Definition ratio (n : nat) (z d : vector) : vector :=
  fun a => exp (log_softmax n (moved_by z d) a - log_softmax n z a).

Lemma entropy_ext n z y : (forall a, (a < n)%nat -> z a = y a) -> entropy n z = entropy n y.
Proof.
  intros same; unfold entropy; f_equal; apply sum_ext; intros a inside.
  rewrite (softmax_ext n z y) by assumption; reflexivity.
Qed.

Lemma log_softmax_ext n z y a :
  (forall b, (b < n)%nat -> z b = y b) -> (a < n)%nat -> log_softmax n z a = log_softmax n y a.
Proof. intros same inside; unfold log_softmax; rewrite (softmax_ext n z y) by assumption; reflexivity. Qed.

Lemma mean_ext_p n p q f : (forall a, (a < n)%nat -> p a = q a) -> mean n p f = mean n q f.
Proof. intros same; apply sum_ext; intros a inside; rewrite same; auto. Qed.

Lemma covariance_ext_p n p q f g :
  (forall a, (a < n)%nat -> p a = q a) -> covariance n p f g = covariance n q f g.
Proof.
  intros same; unfold covariance; rewrite (mean_ext_p n p q) by assumption.
  apply mean_ext; intros; unfold centered; rewrite !(mean_ext_p n p q) by assumption; reflexivity.
Qed.

Lemma quadratic_form_ext n z y d :
  (forall a, (a < n)%nat -> z a = y a) -> quadratic_form n z d = quadratic_form n y d.
Proof.
  intros same; unfold quadratic_form.
  assert (forall a, (a < n)%nat -> softmax n z a = softmax n y a) as p_same
    by (intros; apply softmax_ext; assumption).
  assert (forall a, centered n (softmax n z) d a = centered n (softmax n y) d a) as u_same
    by (intros; unfold centered; rewrite (mean_ext_p n _ _ d p_same); reflexivity).
  rewrite (mean_ext_p n (softmax n z) (softmax n y)), (covariance_ext_p n (softmax n z) (softmax n y))
    by assumption.
  rewrite (mean_ext n (softmax n y) _
             (fun a => centered n (softmax n y) d a * centered n (softmax n y) d a))
    by (intros; rewrite u_same; reflexivity).
  rewrite (covariance_ext n (softmax n y) z _ y
             (fun a => centered n (softmax n y) d a * centered n (softmax n y) d a));
    [reflexivity|assumption|intros; rewrite u_same; reflexivity].
Qed.

Section Step.

Variables (n : nat) (z d : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let p' := softmax n (moved_by z d).
Let one : sum n p = 1.
Proof. apply softmax_sum, some. Qed.
Let one' : sum n p' = 1.
Proof. apply softmax_sum, some. Qed.

(** * Exact identities *)

(** Expectations under pi' are expectations under pi with the weight w. *)
Lemma reweighted a : p a * ratio n z d a = p' a.
Proof.
  unfold ratio, log_softmax, p, p'; pose proof (softmax_pos n z a some).
  unfold Rminus; rewrite exp_plus, exp_Ropp, !exp_ln by (apply softmax_pos, some); field; lra.
Qed.

Lemma mean_ratio f : mean n p (fun a => ratio n z d a * f a) = mean n p' f.
Proof. apply sum_ext; intros; rewrite <- reweighted; ring. Qed.

Lemma covariance_ratio f : covariance n p (ratio n z d) f = mean n p' f - mean n p f.
Proof.
  rewrite covariance_eq, mean_ratio by exact one.
  replace (mean n p (ratio n z d)) with 1; [ring|].
  rewrite <- one'; apply sum_ext; intros; rewrite <- reweighted; ring.
Qed.

Theorem exact_change_1 :
  entropy_change n z d
  = - covariance n p (ratio n z d) (log_softmax n z) - divergence n (moved_by z d) z.
Proof.
  unfold entropy_change, divergence; rewrite covariance_ratio, !entropy_log, mean_minus.
  fold p p'; ring.
Qed.

Theorem exact_change_2 :
  entropy_change n z d
  = - sum n (fun a => (p' a - p a) * log_softmax n (moved_by z d) a) + divergence n z (moved_by z d).
Proof.
  unfold entropy_change, divergence; rewrite !entropy_log, mean_minus; fold p p'.
  rewrite (sum_ext n (fun a => (p' a - p a) * log_softmax n (moved_by z d) a)
             (fun a => p' a * log_softmax n (moved_by z d) a - p a * log_softmax n (moved_by z d) a))
    by (intros; ring).
  rewrite sum_minus; fold (mean n p' (log_softmax n (moved_by z d))).
  fold (mean n p (log_softmax n (moved_by z d))); ring.
Qed.

(** * Along the line *)

Let at_start a : (a < n)%nat -> line z d 0 a = z a.
Proof. intros; apply line_start. Qed.
Let at_end a : (a < n)%nat -> line z d 1 a = moved_by z d a.
Proof. intros; apply line_end. Qed.

Lemma entropy_line_start : entropy n (line z d 0) = entropy n z.
Proof. apply entropy_ext, at_start. Qed.

Lemma entropy_line_end : entropy n (line z d 1) = entropy n (moved_by z d).
Proof. apply entropy_ext, at_end. Qed.

Lemma slope_line_start :
  covariance n (softmax n (line z d 0)) (log_softmax n (line z d 0)) d
  = covariance n p (log_softmax n z) d.
Proof.
  rewrite (covariance_ext_p n _ p) by (intros; apply softmax_ext; auto using at_start).
  apply covariance_ext; [|reflexivity]; intros; apply log_softmax_ext; auto using at_start.
Qed.

Theorem exact_change_3 :
  is_RInt (fun t => - covariance n (softmax n (line z d t)) (log_softmax n (line z d t)) d) 0 1
    (entropy_change n z d).
Proof.
  unfold entropy_change; rewrite <- entropy_line_start, <- entropy_line_end.
  apply (is_RInt_derive (fun t => entropy n (line z d t))).
  - intros t _; apply is_derive_entropy_along_line, some.
  - intros t _; apply (ex_derive_continuous (V := R_NormedModule)).
    eexists; apply is_derive_slope_line, some.
Qed.

(** KL(pi_t || pi) = t E_t[d] - log E_pi[e^{t d}], which rises at the rate t Var_t(d). *)
Lemma is_derive_divergence_line t :
  is_derive (fun s => divergence n (line z d s) z) t (t * covariance n (softmax n (line z d t)) d d).
Proof.
  assert (forall a, (a < n)%nat -> is_derive (fun s => line z d s a) t (d a)) as moves
    by (intros; apply is_derive_line).
  unfold divergence; evar_last.
  - apply (is_derive_mean n (line z d) d t some moves
             (fun s a => log_softmax n (line z d s) a - log_softmax n z a)
             (centered n (softmax n (line z d t)) d)).
    intros a inside; evar_last.
    + apply @is_derive_minus;
        [apply (is_derive_log_softmax n (line z d) d t some moves a inside)|apply @is_derive_const].
    + unfold minus, plus, opp, zero; simpl; ring.
  - assert (sum n (softmax n (line z d t)) = 1) as one_t by apply softmax_sum, some.
    rewrite mean_centered by exact one_t.
    rewrite covariance_minus_r, (covariance_sym _ _ d (log_softmax n (line z d t))),
      (covariance_sym _ _ d (log_softmax n z)), !covariance_log_softmax by assumption.
    rewrite (covariance_ext n _ (line z d t) d (fun a => z a + t * d a) d) by reflexivity.
    rewrite covariance_plus_l, covariance_scal_l; ring.
Qed.

Lemma divergence_self : divergence n z z = 0.
Proof.
  unfold divergence; rewrite (mean_ext n _ _ (fun _ => 0)) by (intros; ring).
  rewrite mean_const by exact one; reflexivity.
Qed.

Lemma divergence_line_end : divergence n (line z d 1) z = divergence n (moved_by z d) z.
Proof.
  unfold divergence; rewrite (mean_ext_p n _ p') by (intros; apply softmax_ext; auto using at_end).
  apply mean_ext; intros; rewrite (log_softmax_ext n (line z d 1) (moved_by z d)); auto using at_end.
Qed.

Lemma divergence_line_start : divergence n (line z d 0) z = 0.
Proof.
  transitivity (divergence n z z); [|apply divergence_self].
  unfold divergence; rewrite (mean_ext_p n _ p) by (intros; apply softmax_ext; auto using at_start).
  apply mean_ext; intros; rewrite (log_softmax_ext n (line z d 0) z); auto using at_start.
Qed.

Theorem divergence_integral :
  is_RInt (fun t => t * covariance n (softmax n (line z d t)) d d) 0 1 (divergence n (moved_by z d) z).
Proof.
  replace (divergence n (moved_by z d) z)
    with (minus (divergence n (line z d 1) z) (divergence n (line z d 0) z)).
  2: { rewrite divergence_line_start, divergence_line_end; unfold minus, plus, opp; simpl; ring. }
  apply (is_RInt_derive (fun t => divergence n (line z d t) z)).
  - intros t _; apply is_derive_divergence_line.
  - intros t _; apply (ex_derive_continuous (V := R_NormedModule)).
    eexists; apply @is_derive_mult;
      [apply @is_derive_id| |intros; apply Rmult_comm].
    apply (is_derive_covariance n z d some t (fun _ => d) (fun _ => d) (fun _ => 0) (fun _ => 0));
      intros; apply @is_derive_const.
Qed.

Lemma divergence_nonneg y : 0 <= divergence n y z.
Proof.
  assert (sum n (softmax n y) = 1) as one_y by apply softmax_sum, some.
  apply Rle_trans with (sum n (fun a => softmax n y a - p a)).
  { rewrite sum_minus, one, one_y; lra. }
  apply sum_le; intros a inside; unfold log_softmax; fold (p a).
  pose proof (entropy_term_below (softmax n y a) (p a) (softmax_pos n y a some) (softmax_pos n z a some)).
  unfold p in *; lra.
Qed.

(** The covariance with w is never less than what entropy loses. *)
Corollary change_below_covariance_with_ratio :
  entropy_change n z d <= - covariance n p (ratio n z d) (log_softmax n z).
Proof. rewrite exact_change_1; pose proof (divergence_nonneg (moved_by z d)); lra. Qed.

(** * First order *)

Theorem first_order_error_sup K :
  (forall t, 0 <= t <= 1 -> Rabs (quadratic_form n (line z d t) d) <= K) ->
  Rabs (entropy_change n z d + covariance n p (log_softmax n z) d) <= K / 2.
Proof.
  intros bound; unfold entropy_change.
  rewrite <- entropy_line_start, <- entropy_line_end, <- slope_line_start.
  replace (entropy n (line z d 1) - entropy n (line z d 0)
           + covariance n (softmax n (line z d 0)) (log_softmax n (line z d 0)) d)
    with (entropy n (line z d 1) - entropy n (line z d 0)
          - - covariance n (softmax n (line z d 0)) (log_softmax n (line z d 0)) d) by ring.
  apply (taylor_2 (fun t => entropy n (line z d t))
           (fun t => - covariance n (softmax n (line z d t)) (log_softmax n (line z d t)) d)
           (fun t => quadratic_form n (line z d t) d)); [| |assumption].
  - intros t _; apply is_derive_entropy_along_line, some.
  - intros t _; apply is_derive_slope_line, some.
Qed.

(** One-sided: what is below the first order only needs a bound from below. *)
Theorem first_order_error_lower K :
  (forall t, 0 <= t <= 1 -> - K <= quadratic_form n (line z d t) d) ->
  - (K / 2) <= entropy_change n z d + covariance n p (log_softmax n z) d.
Proof.
  intros bound; unfold entropy_change.
  rewrite <- entropy_line_start, <- entropy_line_end, <- slope_line_start.
  replace (entropy n (line z d 1) - entropy n (line z d 0)
           + covariance n (softmax n (line z d 0)) (log_softmax n (line z d 0)) d)
    with (entropy n (line z d 1) - entropy n (line z d 0)
          - - covariance n (softmax n (line z d 0)) (log_softmax n (line z d 0)) d) by ring.
  apply (taylor_2_lower (fun t => entropy n (line z d t))
           (fun t => - covariance n (softmax n (line z d t)) (log_softmax n (line z d t)) d)
           (fun t => quadratic_form n (line z d t) d)); [| |assumption].
  - intros t _; apply is_derive_entropy_along_line, some.
  - intros t _; apply is_derive_slope_line, some.
Qed.

Theorem first_order_error_sharp :
  (2 <= n)%nat ->
  Rabs (entropy_change n z d + covariance n p (log_softmax n z) d)
  <= (5 / 16 + ln (INR n) / 10) * sum n (fun a => d a * d a).
Proof.
  intros many.
  replace ((5 / 16 + ln (INR n) / 10) * sum n (fun a => d a * d a))
    with ((5 / 8 + ln (INR n) / 5) * sum n (fun a => d a * d a) / 2) by field.
  apply first_order_error_sup; intros; apply curvature_bound; assumption.
Qed.

Theorem first_order_error :
  Rabs (entropy_change n z d + covariance n p (log_softmax n z) d)
  <= (1 + ln (INR n)) * sum n (fun a => d a * d a) / 4.
Proof.
  assert (0 <= sum n (fun a => d a * d a)) as norm by (apply sum_nonneg; intros; apply Rle_0_sqr).
  destruct (Nat.le_gt_cases 2 n) as [many|single].
  - apply Rle_trans with (1 := first_order_error_sharp many).
    assert (3 / 5 < ln (INR n)) by (pose proof (ln_INR_above n many); pose proof ln_2_above; lra).
    assert (0 <= (ln (INR n) - 5 / 12) * sum n (fun a => d a * d a)) by (apply Rmult_le_pos; lra).
    lra.
  - assert (n = 1%nat) as -> by lia.
    assert (0 <= (1 + ln (INR 1)) * sum 1 (fun a => d a * d a) / 4).
    { simpl INR; rewrite ln_1; lra. }
    assert (forall y, entropy 1 y = 0) as none.
    { intros y; unfold entropy, softmax; simpl; pose proof (exp_pos (y 0%nat)).
      rewrite Rplus_0_l, Rplus_0_l; unfold Rdiv; rewrite Rinv_r, ln_1 by lra; ring. }
    unfold entropy_change; rewrite !none, covariance_centered_r by exact one.
    rewrite (mean_ext 1 p _ (fun _ => 0)).
    + rewrite mean_const by exact one; rewrite Rabs_pos_eq; lra.
    + intros a inside; assert (a = 0%nat) as -> by lia.
      assert (p 0%nat = 1) as all by (pose proof one as total; simpl in total; lra).
      unfold centered, mean; simpl; rewrite all; ring.
Qed.

End Step.
