(** Gibbs' inequality, and entropy between 0 and log n. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks.
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

(** The same over a set of actions, and what it says of a regularized value: entropy plus the mean of s is
    at most log sum e^s. *)
Lemma gibbs_on n A p q :
  (forall a, (a < n)%nat -> A a = true -> 0 < p a) ->
  (forall a, (a < n)%nat -> A a = true -> 0 < q a) ->
  total_on n A q <= total_on n A p ->
  0 <= total_on n A (fun a => p a * (ln (p a) - ln (q a))).
Proof.
  intros p_positive q_positive mass.
  apply Rle_trans with (total_on n A (fun a => p a - q a)); [rewrite total_on_minus; lra|].
  apply total_on_le; intros a inside member.
  specialize (p_positive a inside member); specialize (q_positive a inside member).
  assert (line : ln (q a / p a) <= q a / p a - 1)
    by (apply ln_below_line, Rdiv_lt_0_compat; assumption).
  rewrite ln_div in line by assumption.
  apply (Rmult_le_compat_l (p a)) in line; [|lra].
  replace (p a * (q a / p a - 1)) with (q a - p a) in line by (field; lra).
  lra.
Qed.

Lemma soft_value_on n A p s :
  nonempty n A -> (forall a, (a < n)%nat -> A a = true -> 0 < p a) -> total_on n A p = 1 ->
  total_on n A (fun a => p a * s a) - total_on n A (fun a => p a * ln (p a))
  <= ln (total_on n A (fun a => exp (s a))).
Proof.
  intros some positive one.
  set (Z := total_on n A (fun a => exp (s a))).
  assert (Z_positive : 0 < Z).
  { destruct some as [k [inside member]]; apply (sum_pos_term n (only A (fun a => exp (s a))) k).
    - intros a _; unfold only; destruct (A a); [apply Rlt_le, exp_pos|lra].
    - exact inside.
    - unfold only; rewrite member; apply exp_pos. }
  assert (divergence : 0 <= total_on n A (fun a => p a * (ln (p a) - ln (/ Z * exp (s a))))).
  { apply gibbs_on; [exact positive| |].
    - intros; apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat, Z_positive|apply exp_pos].
    - rewrite total_on_scal, one; fold Z; rewrite Rinv_l by lra; lra. }
  rewrite (total_on_ext n A _ (fun a => p a * ln (p a) - p a * s a + ln Z * p a)) in divergence.
  - rewrite total_on_plus, total_on_minus, total_on_scal, one in divergence; lra.
  - intros a _ _; rewrite ln_mult, ln_Rinv, ln_exp
      by (assumption || apply exp_pos || apply Rinv_0_lt_compat, Z_positive); ring.
Qed.

(** On a segment exp is below its chord. *)
Lemma exp_below_chord t x : 0 <= t -> t <= 1 -> exp (t * x) <= t * exp x + (1 - t).
Proof.
  intros nonneg small.
  pose proof (exp_above_line (x - t * x)) as right_end; pose proof (exp_above_line (- (t * x))) as left_end.
  pose proof (exp_pos (t * x)) as positive.
  assert (exp x = exp (t * x) * exp (x - t * x)) as split by (rewrite <- exp_plus; f_equal; ring).
  assert (1 = exp (t * x) * exp (- (t * x))) as unit_split
    by (rewrite <- exp_plus, Rplus_opp_r, exp_0; reflexivity).
  assert (t * exp (t * x) * (1 + (x - t * x)) <= t * exp (t * x) * exp (x - t * x)).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact right_end]. }
  assert ((1 - t) * exp (t * x) * (1 + - (t * x)) <= (1 - t) * exp (t * x) * exp (- (t * x))).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact left_end]. }
  replace (t * exp (t * x) * exp (x - t * x)) with (t * exp x) in * by (rewrite split; ring).
  replace ((1 - t) * exp (t * x) * exp (- (t * x))) with (1 - t) in *
    by (transitivity ((1 - t) * 1); [ring|rewrite unit_split; ring]).
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
