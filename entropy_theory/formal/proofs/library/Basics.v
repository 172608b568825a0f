(** Finite sums, softmax and entropy: what every proof needs. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** * Sums *)

Lemma sum_ext n f g : (forall a, (a < n)%nat -> f a = g a) -> sum n f = sum n g.
Proof.
  induction n as [|k IH]; simpl; intros same; [reflexivity|].
  rewrite IH, same; auto with arith.
Qed.

Lemma sum_zero n : sum n (fun _ => 0) = 0.
Proof. induction n as [|k IH]; simpl; [reflexivity|rewrite IH; ring]. Qed.

Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof.
  induction n as [|k IH]; [simpl; ring|].
  rewrite S_INR; simpl; rewrite IH; ring.
Qed.

Lemma sum_plus n f g : sum n (fun a => f a + g a) = sum n f + sum n g.
Proof. induction n as [|k IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma sum_minus n f g : sum n (fun a => f a - g a) = sum n f - sum n g.
Proof. induction n as [|k IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma sum_opp n f : sum n (fun a => - f a) = - sum n f.
Proof. induction n as [|k IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma sum_scal n c f : sum n (fun a => c * f a) = c * sum n f.
Proof. induction n as [|k IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma sum_scal_r n c f : sum n (fun a => f a * c) = sum n f * c.
Proof. induction n as [|k IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma sum_div n c f : sum n (fun a => f a / c) = sum n f / c.
Proof. unfold Rdiv; apply sum_scal_r. Qed.

Lemma sum_le n f g : (forall a, (a < n)%nat -> f a <= g a) -> sum n f <= sum n g.
Proof.
  induction n as [|k IH]; simpl; intros below; [lra|].
  apply Rplus_le_compat; auto with arith.
Qed.

Lemma sum_nonneg n f : (forall a, (a < n)%nat -> 0 <= f a) -> 0 <= sum n f.
Proof. intros nonneg; rewrite <- (sum_zero n); apply sum_le, nonneg. Qed.

Lemma sum_ge_term n f k :
  (forall a, (a < n)%nat -> 0 <= f a) -> (k < n)%nat -> f k <= sum n f.
Proof.
  induction n as [|m IH]; simpl; intros nonneg inside; [lia|].
  assert (0 <= sum m f) by (apply sum_nonneg; auto with arith).
  assert (0 <= f m) by auto with arith.
  destruct (Nat.eq_dec k m) as [->|other]; [lra|].
  assert (f k <= sum m f) by (apply IH; [auto with arith|lia]).
  lra.
Qed.

Lemma sum_pos_term n f k :
  (forall a, (a < n)%nat -> 0 <= f a) -> (k < n)%nat -> 0 < f k -> 0 < sum n f.
Proof. intros nonneg inside positive; pose proof (sum_ge_term n f k nonneg inside); lra. Qed.

Lemma sum_pos n f : (0 < n)%nat -> (forall a, (a < n)%nat -> 0 < f a) -> 0 < sum n f.
Proof.
  intros some positive; apply (sum_pos_term n f 0); [|assumption|auto].
  intros a inside; apply Rlt_le, positive, inside.
Qed.

Lemma sum_lt n f g k :
  (forall a, (a < n)%nat -> f a <= g a) -> (k < n)%nat -> f k < g k -> sum n f < sum n g.
Proof.
  intros below inside strict.
  assert (0 < sum n (fun a => g a - f a)) as gap.
  { apply (sum_pos_term _ _ k); [|assumption|lra].
    intros a a_inside; specialize (below a a_inside); lra. }
  rewrite sum_minus in gap; lra.
Qed.

Lemma sum_swap n m (f : nat -> nat -> R) :
  sum n (fun a => sum m (fun b => f a b)) = sum m (fun b => sum n (fun a => f a b)).
Proof.
  induction n as [|k IH]; simpl; [symmetry; apply sum_zero|].
  rewrite IH, <- sum_plus; reflexivity.
Qed.

(** Derivative of a sum, term by term. *)
Lemma is_derive_sum n (f : R -> nat -> R) (g : nat -> R) x :
  (forall a, (a < n)%nat -> is_derive (fun t => f t a) x (g a)) ->
  is_derive (fun t => sum n (f t)) x (sum n g).
Proof.
  induction n as [|k IH]; simpl; intros each.
  - apply @is_derive_const.
  - apply @is_derive_plus with (f := fun t => sum k (f t)); auto with arith.
Qed.

(** * Softmax *)

Lemma normalizer_pos n z : (0 < n)%nat -> 0 < sum n (fun b => exp (z b)).
Proof. intros some; apply sum_pos; [assumption|intros; apply exp_pos]. Qed.

Lemma softmax_pos n z a : (0 < n)%nat -> 0 < softmax n z a.
Proof. intros some; apply Rdiv_lt_0_compat; [apply exp_pos|apply normalizer_pos, some]. Qed.

Lemma softmax_sum n z : (0 < n)%nat -> sum n (softmax n z) = 1.
Proof.
  intros some; unfold softmax; rewrite sum_div.
  pose proof (normalizer_pos n z some); field; lra.
Qed.

Lemma softmax_le_1 n z a : (a < n)%nat -> softmax n z a <= 1.
Proof.
  intros inside; rewrite <- (softmax_sum n z) by lia.
  apply sum_ge_term; [|assumption].
  intros; apply Rlt_le, softmax_pos; lia.
Qed.

Lemma softmax_le n z a b : (0 < n)%nat -> z a <= z b -> softmax n z a <= softmax n z b.
Proof.
  intros some below; unfold softmax, Rdiv; apply Rmult_le_compat_r.
  - apply Rlt_le, Rinv_0_lt_compat, normalizer_pos, some.
  - destruct (Rle_lt_or_eq_dec _ _ below) as [strict|same].
    + apply Rlt_le, exp_increasing, strict.
    + rewrite same; lra.
Qed.

Lemma softmax_lt n z a b : (0 < n)%nat -> z a < z b -> softmax n z a < softmax n z b.
Proof.
  intros some below; unfold softmax, Rdiv; apply Rmult_lt_compat_r.
  - apply Rinv_0_lt_compat, normalizer_pos, some.
  - apply exp_increasing, below.
Qed.

Lemma softmax_ext n z y a :
  (forall b, (b < n)%nat -> z b = y b) -> (a < n)%nat -> softmax n z a = softmax n y a.
Proof.
  intros same inside; unfold softmax; rewrite (same a inside); f_equal.
  apply sum_ext; intros b b_inside; rewrite same; auto.
Qed.

Lemma log_softmax_eq n z a :
  (0 < n)%nat -> log_softmax n z a = z a - ln (sum n (fun b => exp (z b))).
Proof.
  intros some; unfold log_softmax, softmax.
  pose proof (normalizer_pos n z some).
  rewrite ln_div; [rewrite ln_exp; reflexivity|apply exp_pos|assumption].
Qed.

(** * Expectation and covariance *)

Lemma mean_ext n p f g : (forall a, (a < n)%nat -> f a = g a) -> mean n p f = mean n p g.
Proof. intros same; apply sum_ext; intros a inside; rewrite same; auto. Qed.

Lemma mean_const n p c : sum n p = 1 -> mean n p (fun _ => c) = c.
Proof. intros one; unfold mean; rewrite sum_scal_r, one; ring. Qed.

Lemma mean_plus n p f g : mean n p (fun a => f a + g a) = mean n p f + mean n p g.
Proof. unfold mean; rewrite <- sum_plus; apply sum_ext; intros; ring. Qed.

Lemma mean_minus n p f g : mean n p (fun a => f a - g a) = mean n p f - mean n p g.
Proof. unfold mean; rewrite <- sum_minus; apply sum_ext; intros; ring. Qed.

Lemma mean_scal n p c f : mean n p (fun a => c * f a) = c * mean n p f.
Proof. unfold mean; rewrite <- sum_scal; apply sum_ext; intros; ring. Qed.

Lemma mean_opp n p f : mean n p (fun a => - f a) = - mean n p f.
Proof. unfold mean; rewrite <- sum_opp; apply sum_ext; intros; ring. Qed.

Lemma mean_nonneg n p f :
  (forall a, (a < n)%nat -> 0 <= p a) -> (forall a, (a < n)%nat -> 0 <= f a) -> 0 <= mean n p f.
Proof. intros; apply sum_nonneg; intros; apply Rmult_le_pos; auto. Qed.

Lemma mean_le n p f g :
  (forall a, (a < n)%nat -> 0 <= p a) -> (forall a, (a < n)%nat -> f a <= g a) ->
  mean n p f <= mean n p g.
Proof. intros; apply sum_le; intros; apply Rmult_le_compat_l; auto. Qed.

Lemma mean_centered n p f : sum n p = 1 -> mean n p (centered n p f) = 0.
Proof. intros one; unfold centered; rewrite mean_minus, mean_const by assumption; ring. Qed.

(** Cov(f, g) = E[f g] - E[f] E[g]. *)
Lemma covariance_eq n p f g :
  sum n p = 1 ->
  covariance n p f g = mean n p (fun a => f a * g a) - mean n p f * mean n p g.
Proof.
  intros one; unfold covariance, centered.
  rewrite (mean_ext _ _ _ (fun a => f a * g a - mean n p g * f a - mean n p f * g a
                                    + mean n p f * mean n p g)) by (intros; ring).
  rewrite mean_plus, !mean_minus, !mean_scal, mean_const by assumption; ring.
Qed.

(** Only one of the two has to be centered. *)
Lemma covariance_centered_l n p f g :
  sum n p = 1 -> covariance n p f g = mean n p (fun a => centered n p f a * g a).
Proof.
  intros one; rewrite covariance_eq by assumption; unfold centered.
  rewrite (mean_ext _ _ (fun a => (f a - mean n p f) * g a)
             (fun a => f a * g a - mean n p f * g a)) by (intros; ring).
  rewrite mean_minus, mean_scal; ring.
Qed.

Lemma covariance_sym n p f g : covariance n p f g = covariance n p g f.
Proof. apply mean_ext; intros; ring. Qed.

Lemma covariance_ext n p f g f' g' :
  (forall a, (a < n)%nat -> f a = f' a) -> (forall a, (a < n)%nat -> g a = g' a) ->
  covariance n p f g = covariance n p f' g'.
Proof.
  intros same_f same_g; unfold covariance, centered.
  rewrite (mean_ext n p f f' same_f), (mean_ext n p g g' same_g).
  apply mean_ext; intros; rewrite same_f, same_g; auto.
Qed.

Lemma covariance_scal_l n p c f g :
  covariance n p (fun a => c * f a) g = c * covariance n p f g.
Proof.
  unfold covariance, centered.
  rewrite <- (mean_scal n p c (fun a => (f a - mean n p f) * (g a - mean n p g))).
  apply mean_ext; intros; rewrite mean_scal; ring.
Qed.

Lemma covariance_shift_l n p c f g :
  sum n p = 1 -> covariance n p (fun a => f a + c) g = covariance n p f g.
Proof.
  intros one; unfold covariance, centered.
  rewrite (mean_plus n p f (fun _ => c)), mean_const by assumption.
  apply mean_ext; intros; ring.
Qed.

(** Covariance with log pi is covariance with the logits. *)
Lemma covariance_log_softmax n z p g :
  (0 < n)%nat -> sum n p = 1 -> covariance n p (log_softmax n z) g = covariance n p z g.
Proof.
  intros some one.
  rewrite <- (covariance_shift_l n p (- ln (sum n (fun b => exp (z b)))) z g one).
  apply covariance_ext; intros; [rewrite log_softmax_eq by assumption; ring|reflexivity].
Qed.

(** The pair form behind Chebyshev's sum inequality. *)
Lemma covariance_pairs n p f g :
  sum n p = 1 ->
  2 * covariance n p f g =
  sum n (fun a => sum n (fun b => p a * p b * ((f a - f b) * (g a - g b)))).
Proof.
  intros one; rewrite covariance_eq by assumption.
  transitivity (sum n (fun a => p a * f a * g a + p a * mean n p (fun b => f b * g b)
                                - p a * f a * mean n p g - p a * g a * mean n p f)).
  - rewrite !sum_minus, sum_plus, !sum_scal_r, one; unfold mean.
    rewrite (sum_ext n (fun a => p a * (f a * g a)) (fun a => p a * f a * g a)) by (intros; ring).
    ring.
  - apply sum_ext; intros a _; unfold mean.
    rewrite <- (Rmult_1_r (p a * f a * g a)), <- one, <- !sum_scal, <- sum_plus, <- !sum_minus.
    apply sum_ext; intros; ring.
Qed.

Lemma covariance_nonneg_ordered n p f g :
  sum n p = 1 -> (forall a, (a < n)%nat -> 0 <= p a) ->
  (forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= (f a - f b) * (g a - g b)) ->
  0 <= covariance n p f g.
Proof.
  intros one nonneg ordered; apply Rmult_le_reg_l with 2; [lra|].
  rewrite Rmult_0_r, covariance_pairs by assumption.
  apply sum_nonneg; intros a a_inside; apply sum_nonneg; intros b b_inside.
  apply Rmult_le_pos; [apply Rmult_le_pos; auto|auto].
Qed.

Lemma variance_nonneg n p f :
  (forall a, (a < n)%nat -> 0 <= p a) -> 0 <= covariance n p f f.
Proof. intros; apply mean_nonneg; [assumption|intros; apply Rle_0_sqr]. Qed.

(** * Entropy *)

Lemma entropy_log n z : entropy n z = - mean n (softmax n z) (log_softmax n z).
Proof. reflexivity. Qed.

Lemma entropy_eq n z :
  (0 < n)%nat ->
  entropy n z = ln (sum n (fun b => exp (z b))) - mean n (softmax n z) z.
Proof.
  intros some; rewrite entropy_log.
  rewrite (mean_ext _ _ _ (fun a => z a - ln (sum n (fun b => exp (z b)))))
    by (intros; apply log_softmax_eq, some).
  rewrite mean_minus, mean_const by (apply softmax_sum, some); ring.
Qed.

(** * Along a path of logits

    At time t the logits are (z t), moving with velocity (v t). *)

Section Path.

Variables (n : nat) (z : R -> vector) (v : vector) (t : R).
Hypothesis some : (0 < n)%nat.
Hypothesis moves : forall a, (a < n)%nat -> is_derive (fun s => z s a) t (v a).

Lemma is_derive_log_normalizer :
  is_derive (fun s => ln (sum n (fun b => exp (z s b)))) t (mean n (softmax n (z t)) v).
Proof.
  assert (is_derive (fun s => sum n (fun b => exp (z s b))) t
            (sum n (fun b => v b * exp (z t b)))) as normalizer.
  { apply (is_derive_sum n (fun s b => exp (z s b)) (fun b => v b * exp (z t b))).
    intros a inside.
    apply (is_derive_comp exp (fun s => z s a)); [apply is_derive_exp|apply moves, inside]. }
  pose proof (normalizer_pos n (z t) some) as positive.
  evar_last; [apply (is_derive_comp ln); [apply is_derive_ln, positive|exact normalizer]|].
  unfold scal; simpl; unfold mult; simpl; unfold mean, softmax.
  rewrite <- sum_scal_r; apply sum_ext; intros; field; lra.
Qed.

Lemma is_derive_log_softmax a :
  (a < n)%nat ->
  is_derive (fun s => log_softmax n (z s) a) t (centered n (softmax n (z t)) v a).
Proof.
  intros inside.
  apply is_derive_ext with (f := fun s => z s a - ln (sum n (fun b => exp (z s b)))).
  { intros s; symmetry; apply log_softmax_eq, some. }
  apply @is_derive_minus; [apply moves, inside|apply is_derive_log_normalizer].
Qed.

Lemma is_derive_softmax a :
  (a < n)%nat ->
  is_derive (fun s => softmax n (z s) a) t
    (softmax n (z t) a * centered n (softmax n (z t)) v a).
Proof.
  intros inside.
  apply is_derive_ext with (f := fun s => exp (log_softmax n (z s) a)).
  { intros s; unfold log_softmax; apply exp_ln, softmax_pos, some. }
  evar_last.
  - apply (is_derive_comp exp); [apply is_derive_exp|apply is_derive_log_softmax, inside].
  - unfold scal; simpl; unfold mult; simpl; unfold log_softmax.
    rewrite exp_ln by (apply softmax_pos, some); ring.
Qed.

(** D E[f] = E[f (x - E x)] + E[D f]: the rule of moment algebra. *)
Lemma is_derive_mean (f : R -> vector) (g : vector) :
  (forall a, (a < n)%nat -> is_derive (fun s => f s a) t (g a)) ->
  is_derive (fun s => mean n (softmax n (z s)) (f s)) t
    (covariance n (softmax n (z t)) v (f t) + mean n (softmax n (z t)) g).
Proof.
  intros each.
  evar_last.
  - apply (is_derive_sum n (fun s a => softmax n (z s) a * f s a)
             (fun a => softmax n (z t) a * centered n (softmax n (z t)) v a * f t a
                       + softmax n (z t) a * g a)).
    intros a inside.
    evar_last.
    + apply @is_derive_mult;
        [apply is_derive_softmax, inside|apply each, inside|intros; apply Rmult_comm].
    + unfold plus, mult; simpl; ring.
  - rewrite covariance_centered_l by (apply softmax_sum, some).
    unfold mean; rewrite <- sum_plus; apply sum_ext; intros; ring.
Qed.

(** The gradient of entropy along a path: minus a covariance (AEPO Eq. 6; Cui et al., Lemma 1). *)
Lemma is_derive_entropy :
  is_derive (fun s => entropy n (z s)) t
    (- covariance n (softmax n (z t)) (log_softmax n (z t)) v).
Proof.
  apply is_derive_ext with (f := fun s => - mean n (softmax n (z s)) (log_softmax n (z s))).
  { intros; reflexivity. }
  evar_last.
  - apply @is_derive_opp, (is_derive_mean (fun s => log_softmax n (z s))
                             (centered n (softmax n (z t)) v)).
    intros; apply is_derive_log_softmax; assumption.
  - rewrite mean_centered by (apply softmax_sum, some).
    unfold opp; simpl; rewrite (covariance_sym _ _ v); ring.
Qed.

End Path.

(** * One term of a sum *)

Lemma sum_single d i f :
  (i < d)%nat -> sum d (fun j => f j * (if Nat.eqb j i then 1 else 0)) = f i.
Proof.
  induction d as [|k IH]; simpl; intros inside; [lia|].
  destruct (Nat.eqb_spec k i) as [->|other].
  - rewrite (sum_ext i _ (fun _ => 0)), sum_zero; [ring|].
    intros j before; destruct (Nat.eqb_spec j i); [lia|ring].
  - rewrite IH by lia; ring.
Qed.
