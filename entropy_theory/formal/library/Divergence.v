(** Gibbs' inequality, and entropy between 0 and log n. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics.
Open Scope R_scope.

Lemma exp_above_line x : 1 + x <= exp x.
Proof.
  destruct (Req_dec x 0) as [zero|other]; [subst x; rewrite exp_0; lra|].
  apply Rlt_le, exp_ineq1, other.
Qed.

Lemma ln_below_line x : 0 < x -> ln x <= x - 1.
Proof.
  intros positive; pose proof (exp_above_line (ln x)) as line.
  rewrite exp_ln in line by assumption; lra.
Qed.

(** The log is increasing, in the weak form. *)
Lemma ln_le_ln x y : 0 < x -> x <= y -> ln x <= ln y.
Proof.
  intros positive [strict|same]; [|rewrite same; lra].
  apply Rlt_le, ln_increasing; assumption.
Qed.

Lemma ln_nonneg x : 1 <= x -> 0 <= ln x.
Proof. intros above; rewrite <- ln_1; apply ln_le_ln; lra. Qed.

Lemma ln_nonpos x : 0 < x -> x <= 1 -> ln x <= 0.
Proof. intros positive below; rewrite <- ln_1; apply ln_le_ln; lra. Qed.

(** KL(p || q) >= 0, with the same total mass or more on the side of p. *)
Lemma gibbs n p q :
  (forall a, (a < n)%nat -> 0 < p a) -> (forall a, (a < n)%nat -> 0 < q a) ->
  sum n q <= sum n p -> 0 <= sum n (fun a => p a * (ln (p a) - ln (q a))).
Proof.
  intros p_positive q_positive mass.
  apply Rle_trans with (sum n (fun a => p a - q a)); [rewrite sum_minus; lra|].
  apply sum_le; intros a inside.
  specialize (p_positive a inside); specialize (q_positive a inside).
  assert (line : ln (q a / p a) <= q a / p a - 1)
    by (apply ln_below_line, Rdiv_lt_0_compat; assumption).
  rewrite ln_div in line by assumption.
  apply (Rmult_le_compat_l (p a)) in line; [|lra].
  replace (p a * (q a / p a - 1)) with (q a - p a) in line by (field; lra).
  lra.
Qed.

(** Jensen's inequality for exp: log E e^f >= E f. *)
Lemma jensen_exp n p f :
  (forall a, (a < n)%nat -> 0 <= p a) -> sum n p = 1 ->
  exp (mean n p f) <= mean n p (fun a => exp (f a)).
Proof.
  intros nonneg one.
  apply Rle_trans with (mean n p (fun a => exp (mean n p f) * (1 + (f a - mean n p f)))).
  - rewrite mean_scal, mean_plus, mean_minus, !mean_const by assumption; lra.
  - apply mean_le; [assumption|]; intros a _.
    replace (exp (f a)) with (exp (mean n p f) * exp (f a - mean n p f))
      by (rewrite <- exp_plus; f_equal; ring).
    apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|apply exp_above_line].
Qed.

Section Entropy.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Lemma log_softmax_nonpos a : (a < n)%nat -> log_softmax n z a <= 0.
Proof.
  intros inside; apply ln_nonpos; [apply softmax_pos, some|apply softmax_le_1, inside].
Qed.

Lemma entropy_nonneg : 0 <= entropy n z.
Proof.
  unfold entropy; rewrite <- sum_opp; apply sum_nonneg; intros a inside.
  pose proof (log_softmax_nonpos a inside) as nonpos; unfold log_softmax in nonpos.
  pose proof (softmax_pos n z a some).
  assert (0 <= softmax n z a * - ln (softmax n z a)) by (apply Rmult_le_pos; lra).
  lra.
Qed.

Lemma entropy_at_most_log : entropy n z <= ln (INR n).
Proof.
  assert (positive : 0 < INR n) by (apply lt_0_INR, some).
  pose proof (gibbs n (softmax n z) (fun _ => / INR n)) as divergence.
  assert (0 <= sum n (fun a => softmax n z a * (ln (softmax n z a) - ln (/ INR n)))) as nonneg.
  { apply divergence.
    - intros; apply softmax_pos, some.
    - intros; apply Rinv_0_lt_compat, positive.
    - rewrite softmax_sum, sum_const by assumption.
      apply Req_le; field; lra. }
  unfold entropy.
  rewrite (sum_ext n _ (fun a => softmax n z a * ln (softmax n z a) + softmax n z a * ln (INR n))) in nonneg.
  - rewrite sum_plus, sum_scal_r, softmax_sum in nonneg by assumption; lra.
  - intros; rewrite ln_Rinv by assumption; ring.
Qed.

End Entropy.
