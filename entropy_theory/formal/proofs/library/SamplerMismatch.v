(** Weights on the tokens of a step: how far they move its first order of entropy from the exact step's. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature CurvatureBounds Contributions TemperedReinforce
  OwnCovariance OneRight NoiseShapes Inequalities CoinRewards.
Open Scope R_scope.

Section Bounds.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let l := centered n p z.
Let x := excess n z.

(** E|log pi + H|. *)
Definition spread : R := mean n p (fun a => Rabs (l a)).

Let p_pos a : 0 < p a.
Proof. apply softmax_pos, some. Qed.

Let one : sum n p = 1.
Proof. apply softmax_sum, some. Qed.

Lemma spread_nonneg : 0 <= spread.
Proof. apply mean_nonneg; intros; [apply Rlt_le, p_pos|apply Rabs_pos]. Qed.

(** Half of it lies above the mean, and half below. *)
Lemma spread_above : mean n p (fun a => Rmax (l a) 0) = spread / 2.
Proof.
  rewrite (mean_ext n p _ (fun a => (l a + Rabs (l a)) * / 2)).
  - rewrite mean_scal_r, mean_plus; change (fun a => l a) with l; unfold l at 1; rewrite mean_centered by exact one.
    unfold spread; lra.
  - intros a _; unfold Rmax, Rabs; destruct (Rle_dec (l a) 0), (Rcase_abs (l a)); lra.
Qed.

Lemma spread_below : mean n p (fun a => Rmax (- l a) 0) = spread / 2.
Proof.
  rewrite (mean_ext n p _ (fun a => Rmax (l a) 0 - l a)).
  - rewrite mean_minus, spread_above; change (fun a => l a) with l; unfold l; rewrite mean_centered by exact one; lra.
  - intros a _; unfold Rmax; destruct (Rle_dec (- l a) 0), (Rle_dec (l a) 0); lra.
Qed.

Lemma spread_by_entropy : spread <= 2 * entropy n z.
Proof.
  enough (mean n p (fun a => Rmax (l a) 0) <= entropy n z) by (rewrite spread_above in *; lra).
  rewrite <- (mean_const n p (entropy n z) one) at 1; apply mean_le; intros a inside; [apply Rlt_le, p_pos|].
  pose proof (entropy_nonneg n z); pose proof (log_softmax_nonpos n z a inside).
  unfold l, p; rewrite <- log_softmax_plus_entropy by assumption; apply Rmax_lub; lra.
Qed.

(** One action's part of either half. *)
Lemma part_above a : (a < n)%nat -> p a * l a <= spread / 2.
Proof.
  intros inside; rewrite <- spread_above.
  apply Rle_trans with (p a * Rmax (l a) 0).
  - apply Rmult_le_compat_l; [apply Rlt_le, p_pos|apply Rmax_l].
  - unfold mean; apply (sum_ge_term n (fun b => p b * Rmax (l b) 0)); [|exact inside].
    intros; apply Rmult_le_pos; [apply Rlt_le, p_pos|apply Rmax_r].
Qed.

Lemma part_below a : (a < n)%nat -> - (spread / 2) <= p a * l a.
Proof.
  intros inside; rewrite <- spread_below.
  enough (p a * - l a <= mean n p (fun b => Rmax (- l b) 0)) by lra.
  apply Rle_trans with (p a * Rmax (- l a) 0).
  - apply Rmult_le_compat_l; [apply Rlt_le, p_pos|apply Rmax_l].
  - unfold mean; apply (sum_ge_term n (fun b => p b * Rmax (- l b) 0)); [|exact inside].
    intros; apply Rmult_le_pos; [apply Rlt_le, p_pos|apply Rmax_r].
Qed.

Lemma excess_bounded a : (a < n)%nat -> Rabs (x a) <= spread.
Proof.
  intros inside; unfold x; rewrite excess_eq; pose proof (average_nonneg n z some) as low; fold p in low |- *.
  assert (mean n p (own_covariance n z) <= spread / 2) as high.
  { rewrite <- spread_above; apply mean_le; [intros; apply Rlt_le, p_pos|]; intros b b_inside.
    change (own_covariance n z b) with (p b * l b).
    pose proof (softmax_le_1 n z b b_inside) as most; fold p in most.
    apply Rle_trans with (p b * Rmax (l b) 0).
    - apply Rmult_le_compat_l; [apply Rlt_le, p_pos|apply Rmax_l].
    - rewrite <- (Rmult_1_l (Rmax (l b) 0)) at 2; apply Rmult_le_compat_r; [apply Rmax_r|exact most]. }
  pose proof (part_above a inside); pose proof (part_below a inside).
  change (own_covariance n z a) with (p a * l a); apply Rabs_le; lra.
Qed.

(** The bias of a change u of weights times advantages: by the mean of |u|. *)
Theorem bias_by_mean u : Rabs (mean n p (fun a => u a * x a)) <= mean n p (fun a => Rabs (u a)) * spread.
Proof.
  unfold mean at 1; apply Rle_trans with (1 := abs_sum_le _ _).
  unfold mean; rewrite <- sum_scal_r; apply sum_le; intros a inside.
  rewrite !Rabs_mult, (Rabs_pos_eq (p a)) by apply Rlt_le, p_pos.
  rewrite Rmult_assoc; apply Rmult_le_compat_l; [apply Rlt_le, p_pos|].
  apply Rmult_le_compat_l; [apply Rabs_pos|apply excess_bounded, inside].
Qed.

(** By the largest |u|: only what differs from the action itself counts. *)
Theorem bias_by_largest u bound :
  (forall a, (a < n)%nat -> Rabs (u a) <= bound) ->
  Rabs (mean n p (fun a => u a * x a)) <= bound * spread / 2.
Proof.
  intros bounded.
  assert (mean n p (fun a => u a * x a) = mean n p (fun a => l a * (p a * centered n p u a))) as ->.
  { pose proof (fall_as_excess n z u some) as same; fold p in same; unfold x; rewrite <- same.
    rewrite covariance_centered_l by exact one; reflexivity. }
  unfold mean at 1; apply Rle_trans with (1 := abs_sum_le _ _).
  replace (bound * spread / 2) with (sum n (fun a => p a * Rabs (l a) * (bound / 2)))
    by (unfold spread, mean; rewrite sum_scal_r; field).
  apply sum_le; intros a inside; pose proof (p_pos a) as positive.
  rewrite !Rabs_mult, (Rabs_pos_eq (p a)) by lra; rewrite Rmult_assoc.
  apply Rmult_le_compat_l; [lra|]; apply Rmult_le_compat_l; [apply Rabs_pos|].
  assert (0 <= bound) by (apply Rle_trans with (1 := Rabs_pos (u a)), bounded, inside).
  assert (Rabs (centered n p u a) <= 2 * bound * (1 - p a)) as apart.
  { replace (centered n p u a) with (sum n (fun b => p b * (u a - u b))).
    - apply Rle_trans with (1 := abs_sum_le _ _).
      replace (2 * bound * (1 - p a)) with (sum n (fun b => 2 * bound * (p b - delta a b * p b)))
        by (rewrite sum_scal, sum_minus, one, sum_delta by exact inside; reflexivity).
      apply sum_le; intros b b_inside; pose proof (p_pos b).
      rewrite Rabs_mult, (Rabs_pos_eq (p b)) by lra; unfold delta.
      destruct (Nat.eqb_spec a b) as [<-|other]; [rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; lra|].
      pose proof (bounded a inside); pose proof (bounded b b_inside).
      pose proof (Rabs_triang (u a) (- u b)) as both; rewrite Rabs_Ropp in both.
      change (u a + - u b) with (u a - u b) in both; nra.
    - unfold centered, mean; rewrite (sum_ext n _ (fun b => p b * u a - p b * u b)) by (intros; ring).
      rewrite sum_minus, sum_scal_r, one; ring. }
  assert (p a * (1 - p a) <= / 4) by (pose proof (Rle_0_sqr (p a - / 2)); unfold Rsqr in *; nra).
  apply Rle_trans with (p a * (2 * bound * (1 - p a))); [apply Rmult_le_compat_l; lra|nra].
Qed.

(** A step of weights w and advantages A falls by E[w A x], so that what it has beyond the exact step is such a bias. *)
Lemma fall_weighted w A :
  covariance n p z (fun a => p a * centered n p (fun b => w b * A b) a)
  - covariance n p z (fun a => p a * centered n p A a)
  = mean n p (fun a => (w a - 1) * A a * x a).
Proof.
  pose proof (fall_as_excess n z (fun b => w b * A b) some) as weighted; pose proof (fall_as_excess n z A some) as exact_.
  fold p in weighted, exact_; cbv beta in weighted; rewrite weighted, exact_, <- mean_minus.
  apply mean_ext; intros; unfold x; ring.
Qed.

End Bounds.

(** The bound of a number of either sign. *)
Lemma both_signs x bound : Rabs x <= bound -> x <= bound /\ 0 <= bound + x.
Proof.
  intros within; pose proof (Rle_abs x); pose proof (Rle_abs (- x)) as other; rewrite Rabs_Ropp in other; lra.
Qed.

(** e^t is within e^r - 1 of 1, for |t| <= r. *)
Lemma exp_near_one t r : Rabs t <= r -> Rabs (exp t - 1) <= exp r - 1.
Proof.
  intros within; pose proof (Rle_abs t); pose proof (Rle_abs (- t)) as other; rewrite Rabs_Ropp in other.
  assert (exp t <= exp r) by (destruct (Req_dec t r) as [->|]; [lra|left; apply exp_increasing; lra]).
  assert (exp (- r) <= exp t) by (destruct (Req_dec (- r) t) as [->|]; [lra|left; apply exp_increasing; lra]).
  assert (exp r * exp (- r) = 1) as unit by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  pose proof (exp_pos r); pose proof (exp_pos (- r)).
  apply Rabs_le; split; [|lra].
  enough (2 <= exp r + exp (- r)) by lra.
  pose proof (Rle_0_sqr (exp r - exp (- r))) as square; unfold Rsqr in square; nra.
Qed.

(** * Samples at another temperature, rewards of 1 and 0 less their mean under the sampler *)

Section Rewards.

Variables (n : nat) (z : vector) (A : mask) (T : R).
Hypothesis some : (0 < n)%nat.
Hypothesis positive : 0 < T.

Let p := softmax n z.
Let q := softmax n (tempered T z).
Let right : vector := fun a => if A a then 1 else 0.
Let advantage := centered n q right.
Let shift : vector := fun a => z a / T - z a.
Let ratio : vector := fun a => exp (log_softmax n (moved_by z shift) a - log_softmax n z a).

Let fall w := covariance n p z (fun a => p a * centered n p w a).

Lemma share_between : 0 <= mean n q right <= 1.
Proof.
  assert (forall a, 0 <= q a) as nonneg by (intros; apply Rlt_le, softmax_pos, some).
  split; [apply mean_nonneg; intros; [apply nonneg|unfold right; destruct (A a); lra]|].
  rewrite <- (mean_const n q 1) by apply softmax_sum, some.
  apply mean_le; intros; [apply nonneg|unfold right; destruct (A a); lra].
Qed.

Lemma advantage_bounded a : Rabs (advantage a) <= 1.
Proof.
  pose proof share_between; unfold advantage, centered; apply Rabs_le.
  change (right a) with (if A a then 1 else 0); destruct (A a); lra.
Qed.

(** Weights that mask: where the exact step's first order is above what they leave out, its sign stays. *)
Theorem sign_of_clear w :
  (forall a, 0 <= w a <= 1) ->
  mean n p (fun a => 1 - w a) * spread n z < Rabs (fall advantage) ->
  0 < fall (fun a => w a * advantage a) * fall advantage.
Proof.
  intros within clear.
  pose proof (fall_weighted n z some w advantage) as beyond.
  pose proof (bias_by_mean n z some (fun a => (w a - 1) * advantage a)) as bias; cbv beta in bias; fold p in beyond, bias.
  rewrite <- beyond in bias; change (covariance n p z (fun a => p a * centered n p (fun b => w b * advantage b) a))
    with (fall (fun a => w a * advantage a)) in bias.
  change (covariance n p z (fun a => p a * centered n p advantage a)) with (fall advantage) in bias.
  assert (mean n p (fun a => Rabs ((w a - 1) * advantage a)) * spread n z
          <= mean n p (fun a => 1 - w a) * spread n z) as wider.
  { apply Rmult_le_compat_r; [apply spread_nonneg, some|].
    apply mean_le; intros a inside; [apply Rlt_le, softmax_pos, some|].
    pose proof (within a); pose proof (advantage_bounded a); pose proof (Rabs_pos (advantage a)).
    rewrite Rabs_mult, (Rabs_left1 (w a - 1)) by lra; nra. }
  pose proof (Rle_trans _ _ _ bias wider) as near; apply both_signs in near.
  unfold Rabs in clear; destruct (Rcase_abs (fall advantage)).
  - rewrite <- Rmult_opp_opp; apply Rmult_lt_0_compat; lra.
  - apply Rmult_lt_0_compat; lra.
Qed.

(** The ratio is in the order of the logits for a sharper sampler, and in the reverse for a hotter one. *)
Lemma ratio_sharper : T <= 1 -> in_order n z ratio.
Proof.
  intros sharper; apply ratio_in_order; [exact some|]; intros a b _ _ above; unfold shift.
  assert (1 <= / T) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra); unfold Rdiv; nra.
Qed.

Lemma ratio_hotter a b : 1 <= T -> (a < n)%nat -> (b < n)%nat -> z b < z a -> ratio a <= ratio b.
Proof.
  intros hotter a_inside b_inside above; unfold ratio; rewrite !log_softmax_eq by assumption; unfold moved_by, shift.
  assert (/ T <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert ((z a - z b) * (/ T - 1) <= 0) by nra.
  match goal with |- exp ?u <= exp ?v => assert (u <= v) as [strict|same] by (unfold Rdiv; lra) end.
  - left; apply exp_increasing, strict.
  - rewrite same; lra.
Qed.

(** One right action, and weights that grow with the ratio. *)
Theorem errs_one_way w :
  (forall a b, ratio a <= ratio b -> w a <= w b) -> nonempty n A -> count_on n A < 2 ->
  0 <= (1 - T) * (total_on n A w * fall advantage - fall (fun a => w a * advantage a)).
Proof.
  intros grows chosen few; destruct (one_of_count n A chosen few) as (r & inside & at_r & alone).
  set (x := excess n z); set (b := mean n q right).
  assert (forall f, mean n p (fun a => f a * right a * x a) = p r * (f r * x r)) as at_one.
  { intros f; rewrite <- (total_on_one n A r inside at_r alone (fun a => p a * (f a * x a))).
    apply sum_ext; intros a _; unfold only, right; destruct (A a); ring. }
  assert (fall advantage = p r * x r) as exact_.
  { unfold fall, p; rewrite fall_as_excess by exact some; fold p.
    rewrite (mean_ext n p _ (fun a => 1 * right a * x a - b * x a))
      by (intros; unfold advantage, centered, x; fold b; ring).
    assert (mean n p (fun a => x a) = 0) as zero by exact (mean_excess n z some).
    rewrite mean_minus, mean_scal, (at_one (fun _ => 1)); change (mean n p x = 0) in zero; rewrite zero; ring. }
  assert (fall (fun a => w a * advantage a) = w r * (p r * x r) - b * mean n p (fun a => w a * x a)) as weighted.
  { unfold fall, p; rewrite fall_as_excess by exact some; fold p.
    rewrite (mean_ext n p _ (fun a => w a * right a * x a - b * (w a * x a)))
      by (intros; unfold advantage, centered, x; fold b; ring).
    rewrite mean_minus, mean_scal, at_one; ring. }
  rewrite exact_, weighted, (total_on_one n A r inside at_r alone).
  replace ((1 - T) * (w r * (p r * x r) - (w r * (p r * x r) - b * mean n p (fun a => w a * x a))))
    with (b * ((1 - T) * mean n p (fun a => w a * x a))) by ring.
  apply Rmult_le_pos; [apply share_between|].
  destruct (Rle_or_lt T 1) as [sharper|hotter].
  - apply Rmult_le_pos; [lra|]; apply (ordered_weights_lower n z w some).
    intros a c a_inside c_inside above; apply grows, ratio_sharper; assumption.
  - assert (0 <= mean n p (fun a => - w a * x a)) as raises.
    { apply (ordered_weights_lower n z (fun a => - w a) some); intros a c a_inside c_inside above.
      apply Ropp_le_contravar, grows, ratio_hotter; (assumption || lra). }
    rewrite (mean_ext n p _ (fun a => - (w a * x a))), mean_opp in raises by (intros; ring); nra.
Qed.

End Rewards.
