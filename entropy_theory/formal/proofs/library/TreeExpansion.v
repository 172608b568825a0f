(** The entropy of responses along a straight line of logits, to second order.

    With responses y as actions, S(y) the score of y, and Q(y) the sum along y of the states' variances
    of the direction d, the probability of y moves by S and S by -Q. So

        H' = -E[log pi(y) S],    H'' = -E[S^2] - E[log pi(y) (S^2 - Q)],    E[S^2] = E[Q].

    Where ||d_s||^2 <= D = 2 s^2 at every state, Q <= h s^2 and |S| <= 2 h s, and then
    |H''| <= h s^2 (1 + log h + h log n), from -p log p <= -p log q + q - p with q = 1/(4 h n^h). *)

From Coq Require Import Reals Lra Lia List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates.
From PolicyEntropy.library Require Import TreeGradients TreeLargest Taylor Curvature Spread CurvatureBounds.
Import ListNotations.
Open Scope R_scope.

(** * Sizes *)

Lemma sum_responses_const n h c : sum_responses n h (fun _ => c) = INR n ^ h * c.
Proof.
  induction h as [|k IH]; simpl; [ring|].
  change (sum n (fun _ => sum_responses n k (fun _ => c)) = INR n * INR n ^ k * c).
  rewrite IH, sum_const; ring.
Qed.

Lemma sum_along_between n h low high : forall (e : state -> vector) y,
  (forall s a, state_of n h s -> (a < n)%nat -> low <= e s a <= high) ->
  length y = h -> tokens_below n y -> INR h * low <= sum_along e y <= INR h * high.
Proof.
  induction h as [|k IH]; intros e [|a rest] range long below_n; try discriminate; [simpl; lra|].
  inversion below_n; subst; simpl in long; rewrite S_INR; simpl sum_along.
  assert (low <= e [] a <= high) by (apply range; [apply state_of_nil|assumption]).
  assert (INR k * low <= sum_along (after a e) rest <= INR k * high); [|lra].
  apply IH; [|lia|assumption].
  intros s b inside b_inside; apply range; [apply state_of_cons|]; assumption.
Qed.

Lemma ln_2_above_two_thirds : 2 / 3 < ln 2.
Proof.
  rewrite <- (ln_exp (2 / 3)); apply ln_increasing; [apply exp_pos|].
  replace (2 / 3) with (INR 32 * (1 / 48)) by (simpl; field); rewrite exp_pow.
  assert (exp (1 / 48) <= 48 / 47) as step.
  { pose proof (exp_ineq1_le (- (1 / 48))) as tangent; rewrite exp_Ropp in tangent.
    pose proof (exp_pos (1 / 48)) as positive.
    apply (Rmult_le_compat_l (exp (1 / 48))) in tangent; [|lra].
    rewrite Rinv_r in tangent by lra; lra. }
  apply Rle_lt_trans with ((48 / 47) ^ 32); [|lra].
  apply pow_incr; split; [apply Rlt_le, exp_pos|exact step].
Qed.

Section Direction.

Variables (n : nat) (p d : vector) (s : R).
Hypothesis some : (0 < n)%nat.
Hypothesis nonneg : forall a, (a < n)%nat -> 0 <= p a.
Hypothesis one : sum n p = 1.
Hypothesis s_nonneg : 0 <= s.
Hypothesis size : sum n (fun a => d a * d a) <= 2 * s ^ 2.

Lemma deviation_below a : (a < n)%nat -> - (2 * s) <= centered n p d a <= 2 * s.
Proof.
  intros inside.
  pose proof (square_centered_below_range n p d nonneg one (smallest n d) (largest n d) a
                (between_smallest_and_largest n d) inside) as square.
  pose proof (spread_below_norm n d some) as norm; split; nra.
Qed.

Lemma variance_below : covariance n p d d <= s ^ 2.
Proof.
  pose proof (variance_below_range n p d nonneg one (smallest n d) (largest n d)
                (between_smallest_and_largest n d)) as quarter.
  pose proof (spread_below_norm n d some) as norm; lra.
Qed.

End Direction.

Lemma response_entropy_nonneg n h z : (0 < n)%nat -> 0 <= response_entropy n h z.
Proof.
  intros some; rewrite response_entropy_states by assumption; apply sum_states_nonneg; intros x _.
  apply Rmult_le_pos; [apply Rlt_le, probability_pos, some|apply entropy_nonneg].
Qed.

Lemma response_entropy_below_log n h z :
  (0 < n)%nat -> response_entropy n h z <= INR h * ln (INR n).
Proof.
  intros some; assert (0 < INR n) as size by (apply lt_0_INR; lia).
  assert (0 < INR n ^ h) as many by (apply pow_lt; assumption).
  unfold response_entropy; rewrite <- sum_responses_opp.
  apply Rle_trans with (sum_responses n h (fun y =>
    (INR h * ln (INR n) * probability n z y + / INR n ^ h) - probability n z y)).
  - apply sum_responses_le; intros y _.
    pose proof (entropy_term_below (probability n z y) (/ INR n ^ h) (probability_pos n z y some)
                  (Rinv_0_lt_compat _ many)) as term.
    rewrite ln_Rinv, <- Rpower_pow, ln_Rpower in term by assumption; rewrite Rpower_pow in term by assumption.
    lra.
  - rewrite sum_responses_minus, sum_responses_plus, sum_responses_scal, probability_sum,
      sum_responses_const by assumption.
    right; field; lra.
Qed.

(** * Two derivatives *)

Section Line.

Variables (n h : nat) (z : policy) (d : state -> vector).
Hypothesis some : (0 < n)%nat.

Let at_time t := moved z t d.
Let log_p t := sum_along (log_policy n (at_time t)).
Let S t := sum_along (centered_policy n (at_time t) d).
Let spread t : state -> vector := fun x _ => covariance n (softmax n (at_time t x)) (d x) (d x).
Let Q t := sum_along (spread t).

Definition response_slope (t : R) : R := - covariance_responses n h (at_time t) (log_p t) (S t).
Definition response_curvature (t : R) : R :=
  - mean_responses n h (at_time t) (fun y => S t y * S t y)
  - mean_responses n h (at_time t) (fun y => log_p t y * (S t y * S t y - Q t y)).

Let moves t x a : is_derive (fun r => at_time r x a) t (d x a).
Proof. apply is_derive_moved. Qed.

Lemma is_derive_response_slope t :
  is_derive (fun r => response_entropy n h (at_time r)) t (response_slope t).
Proof. apply (is_derive_response_entropy n h at_time d t some); intros; apply moves. Qed.

Lemma is_derive_log_p t y :
  response_of n h y -> is_derive (fun r => log_p r y) t (S t y).
Proof.
  intros [long below_n].
  apply is_derive_ext with (f := fun r => ln (probability n (at_time r) y)).
  { intros r; apply ln_probability, some. }
  apply (is_derive_ln_probability n t y h at_time d); try assumption; [intros; apply moves|lia].
Qed.

(** The score moves by minus the variances on the way. *)
Lemma is_derive_score t y : response_of n h y -> is_derive (fun r => S r y) t (- Q t y).
Proof.
  intros [long below_n]; unfold Q; rewrite <- sum_along_opp.
  apply (is_derive_sum_along n h t some (fun r => centered_policy n (at_time r) d)
           (fun x a => - spread t x a)); [|lia|assumption].
  intros x a _ inside; unfold centered_policy, centered; evar_last.
  - apply @is_derive_minus; [apply @is_derive_const|].
    apply (is_derive_mean n (fun r => at_time r x) (d x) t some (fun b _ => moves t x b)
             (fun _ => d x) (fun _ => 0)).
    intros; apply @is_derive_const.
  - rewrite (mean_const n _ 0) by (apply softmax_sum, some).
    unfold spread, minus, plus, opp, zero; simpl; ring.
Qed.

Lemma mean_score t : mean_responses n h (at_time t) (S t) = 0.
Proof. apply mean_responses_score, some. Qed.

Lemma response_slope_mean t :
  response_slope t = - mean_responses n h (at_time t) (fun y => log_p t y * S t y).
Proof.
  unfold response_slope; rewrite covariance_responses_eq, mean_score by assumption; ring.
Qed.

Lemma is_derive_response_curvature t : is_derive response_slope t (response_curvature t).
Proof.
  apply is_derive_ext with
    (f := fun r => - mean_responses n h (at_time r) (fun y => log_p r y * S r y)).
  { intros r; symmetry; apply response_slope_mean. }
  evar_last.
  - apply @is_derive_opp, (is_derive_mean_responses n h at_time d t some
      (fun x a _ _ => moves t x a) (fun r y => log_p r y * S r y)
      (fun y => S t y * S t y + log_p t y * - Q t y)).
    intros y response; apply @is_derive_mult;
      [apply is_derive_log_p, response|apply is_derive_score, response|intros; apply Rmult_comm].
  - change (sum_along (centered_policy n (at_time t) d)) with (S t).
    rewrite covariance_responses_eq, mean_score by assumption.
    unfold opp, response_curvature; simpl.
    rewrite Rmult_0_r, Rminus_0_r, <- mean_responses_plus, <- mean_responses_opp.
    unfold Rminus; rewrite <- !mean_responses_opp, <- mean_responses_plus.
    apply mean_responses_ext; intros; ring.
Qed.

(** E[S^2] = E[Q]: scores at different states do not correlate. *)
Lemma mean_square_score t :
  mean_responses n h (at_time t) (fun y => S t y * S t y) = mean_responses n h (at_time t) (Q t).
Proof.
  unfold S, Q; rewrite fisher_information, <- value_responses, value_states by assumption.
  apply sum_states_ext; intros x _; f_equal.
  symmetry; apply mean_const, softmax_sum, some.
Qed.

(** * Bounds *)

Variable s : R.
Hypothesis s_nonneg : 0 <= s.
Hypothesis size : forall x, state_of n h x -> sum n (fun a => d x a * d x a) <= 2 * s ^ 2.

Lemma spread_range t y : response_of n h y -> 0 <= Q t y <= INR h * s ^ 2.
Proof.
  intros [long below_n]; rewrite <- (Rmult_0_r (INR h)).
  apply (sum_along_between n h); [|assumption|assumption].
  intros x a inside _; unfold spread.
  assert (forall b, (b < n)%nat -> 0 <= softmax n (at_time t x) b) as nonneg
    by (intros; apply Rlt_le, softmax_pos, some).
  split; [apply variance_nonneg, nonneg|].
  apply variance_below; [assumption|assumption|apply softmax_sum, some|apply size, inside].
Qed.

Lemma score_range t y : response_of n h y -> S t y * S t y <= 4 * INR h ^ 2 * s ^ 2.
Proof.
  intros [long below_n].
  assert (INR h * - (2 * s) <= S t y <= INR h * (2 * s)) as range.
  { apply (sum_along_between n h); [|assumption|assumption].
    intros x a inside a_inside; apply deviation_below; try assumption.
    - intros; apply Rlt_le, softmax_pos, some.
    - apply softmax_sum, some.
    - apply size, inside. }
  pose proof (pos_INR h).
  assert (0 <= (INR h * (2 * s) - S t y) * (INR h * (2 * s) + S t y)) by (apply Rmult_le_pos; lra).
  lra.
Qed.

Let F t := mean_responses n h (at_time t) (fun y => S t y * S t y).

Lemma mean_square_range t : 0 <= F t <= INR h * s ^ 2.
Proof.
  split.
  - apply mean_responses_nonneg; [assumption|]; intros; apply Rle_0_sqr.
  - unfold F; rewrite mean_square_score.
    rewrite <- (mean_responses_const n h (at_time t) (INR h * s ^ 2) some).
    apply mean_responses_le; [assumption|]; intros y response; apply spread_range, response.
Qed.

Lemma log_p_nonpos t y : response_of n h y -> log_p t y <= 0.
Proof.
  intros [long below_n]; rewrite <- (Rmult_0_r (INR h)); unfold log_p.
  assert (forall (e : state -> vector) x, tokens_below n x -> (forall u a, (a < n)%nat -> e u a <= 0) -> sum_along e x <= 0)
    as sums.
  { intros e x; revert e; induction x as [|a rest IH]; intros e below_x nonpos; simpl; [lra|].
    inversion below_x; subst.
    assert (e [] a <= 0) by (apply nonpos; assumption).
    assert (sum_along (after a e) rest <= 0); [|lra].
    apply IH; [assumption|]; intros; apply nonpos; assumption. }
  rewrite Rmult_0_r; apply sums; [assumption|]; intros; apply log_softmax_nonpos; assumption.
Qed.

(** E[-log pi Q] <= h s^2 H. *)
Lemma curvature_lower t :
  - (INR h * s ^ 2 * (1 + INR h * ln (INR n))) <= response_curvature t.
Proof.
  unfold response_curvature; fold (F t); destruct (mean_square_range t) as [_ F_below].
  assert (mean_responses n h (at_time t) (fun y => log_p t y * (S t y * S t y - Q t y))
          <= INR h * s ^ 2 * response_entropy n h (at_time t)) as weighted.
  { rewrite response_entropy_mean by assumption.
    rewrite <- mean_responses_opp, <- mean_responses_scal.
    apply mean_responses_le; [assumption|]; intros y response; fold (log_p t).
    pose proof (log_p_nonpos t y response) as negative; pose proof (spread_range t y response) as range.
    assert (0 <= - log_p t y * (S t y * S t y)) by (apply Rmult_le_pos; [lra|apply Rle_0_sqr]).
    assert (- log_p t y * Q t y <= - log_p t y * (INR h * s ^ 2)) by (apply Rmult_le_compat_l; lra).
    lra. }
  assert (INR h * s ^ 2 * response_entropy n h (at_time t)
          <= INR h * s ^ 2 * (INR h * ln (INR n))).
  { apply Rmult_le_compat_l; [|apply response_entropy_below_log, some].
    apply Rmult_le_pos; [apply pos_INR|apply pow2_ge_0]. }
  lra.
Qed.

(** E[-log pi S^2] <= E[S^2] (log(4 h n^h) - 1) + h s^2, by tangents. *)
Lemma curvature_upper t :
  (2 <= n)%nat -> (1 <= h)%nat ->
  response_curvature t <= INR h * s ^ 2 * (1 + ln (INR h) + INR h * ln (INR n)).
Proof.
  intros several long; assert (0 < INR n) as n_pos by (apply lt_0_INR; lia).
  assert (1 <= INR h) as h_large by (apply (le_INR 1); assumption).
  assert (0 < INR n ^ h) as many by (apply pow_lt; assumption).
  set (q := / (4 * INR h * INR n ^ h)).
  assert (0 < q) as q_pos
    by (apply Rinv_0_lt_compat; repeat apply Rmult_lt_0_compat; lra).
  assert (ln q = - (ln 4 + ln (INR h) + INR h * ln (INR n))) as ln_q.
  { unfold q; rewrite ln_Rinv, !ln_mult by (repeat apply Rmult_lt_0_compat; lra).
    rewrite <- Rpower_pow, ln_Rpower by assumption; ring. }
  destruct (mean_square_range t) as [F_nonneg F_below].
  assert (- mean_responses n h (at_time t) (fun y => log_p t y * (S t y * S t y - Q t y))
          <= F t * (- ln q - 1) + INR h * s ^ 2) as weighted.
  { apply Rle_trans with (sum_responses n h (fun y =>
      (- ln q - 1) * (probability n (at_time t) y * (S t y * S t y)) + q * (4 * INR h ^ 2 * s ^ 2))).
    - rewrite <- mean_responses_opp; apply sum_responses_le; intros y response.
      pose proof (log_p_nonpos t y response) as negative; pose proof (spread_range t y response) as range.
      pose proof (score_range t y response) as top; pose proof (Rle_0_sqr (S t y)) as square.
      unfold Rsqr in square; set (sq := S t y * S t y) in *.
      pose proof (probability_pos n (at_time t) y some) as positive.
      pose proof (entropy_term_below (probability n (at_time t) y) q positive q_pos) as tangent.
      rewrite ln_probability in tangent by assumption.
      change (sum_along (log_policy n (at_time t)) y) with (log_p t y) in tangent.
      set (w := probability n (at_time t) y) in *.
      assert (sq * - (w * log_p t y) <= sq * (- (w * ln q) + q - w)) by (apply Rmult_le_compat_l; lra).
      assert (0 <= w * (- log_p t y * Q t y)) by (repeat apply Rmult_le_pos; lra).
      assert (sq * q <= 4 * INR h ^ 2 * s ^ 2 * q) by (apply Rmult_le_compat_r; lra).
      lra.
    - rewrite sum_responses_plus, sum_responses_scal, sum_responses_const.
      fold (mean_responses n h (at_time t) (fun y => S t y * S t y)); fold (F t).
      replace (INR n ^ h * (q * (4 * INR h ^ 2 * s ^ 2))) with (INR h * s ^ 2)
        by (unfold q; field; lra).
      lra. }
  pose proof ln_2_above_two_thirds as log_2.
  assert (ln 4 = 2 * ln 2) as four.
  { replace 4 with (2 * 2) by ring; rewrite ln_mult by lra; ring. }
  assert (ln 2 <= 1) by (pose proof (ln_below 2); lra).
  assert (0 <= ln (INR h)).
  { rewrite <- ln_1; destruct h_large as [more|same];
      [apply Rlt_le, ln_increasing; lra|rewrite <- same; apply Rle_refl]. }
  pose proof (ln_INR_above n several) as L_large.
  assert (INR h * ln (INR n) >= 1 * ln (INR n)) by (apply Rle_ge, Rmult_le_compat_r; lra).
  unfold response_curvature; fold (F t); rewrite ln_q in weighted.
  set (L := INR h * ln (INR n)) in *; set (l := ln (INR h)) in *.
  assert (0 <= (INR h * s ^ 2 - F t) * (ln 4 + l + L - 2)) by (apply Rmult_le_pos; lra).
  assert (0 <= INR h * s ^ 2 * (2 - ln 4)) by (apply Rmult_le_pos; lra).
  lra.
Qed.

End Line.

(** * First order *)

Lemma moved_1 z d : moved z 1 d = fun s a => z s a + d s a.
Proof.
  apply functional_extensionality; intros s; apply functional_extensionality; intros a.
  unfold moved; ring.
Qed.

(** The rate of entropy along d, state by state. *)
Lemma response_slope_states n h z d :
  (0 < n)%nat ->
  response_slope n h z d 0 = sum_states n h (fun s => probability n z s *
    (- covariance n (softmax n (z s)) (log_softmax n (z s)) (d s)
     + covariance n (softmax n (z s)) (entropy_to_come n h z s) (d s))).
Proof.
  intros some; unfold response_slope; rewrite moved_0, covariance_log_policy_states by assumption.
  rewrite <- sum_states_opp; apply sum_states_ext; intros s _.
  rewrite covariance_minus_l by (apply softmax_sum, some); ring.
Qed.

(** |H(z + d) - H(z) - rate| <= (h/4) (1 + log h + h log n) max_s ||d_s||^2. *)
Theorem response_first_order_error n h (z : policy) (d : state -> vector) D :
  (2 <= n)%nat -> (1 <= h)%nat ->
  (forall s, state_of n h s -> sum n (fun a => d s a * d s a) <= D) ->
  Rabs (response_entropy n h (fun s a => z s a + d s a) - response_entropy n h z
        - sum_states n h (fun s => probability n z s *
            (- covariance n (softmax n (z s)) (log_softmax n (z s)) (d s)
             + covariance n (softmax n (z s)) (entropy_to_come n h z s) (d s))))
  <= INR h * (1 + ln (INR h) + INR h * ln (INR n)) * D / 4.
Proof.
  intros several long size; assert (0 < n)%nat as some by lia.
  assert (0 <= D) as D_nonneg.
  { destruct h as [|k]; [lia|]; apply Rle_trans with (2 := size [] (state_of_nil n k)).
    apply sum_nonneg; intros; apply Rle_0_sqr. }
  set (s := sqrt (D / 2)); assert (0 <= s) as s_nonneg by apply sqrt_pos.
  assert (2 * s ^ 2 = D) as square by (unfold s; rewrite pow2_sqrt; lra).
  rewrite <- square in size.
  assert (0 <= ln (INR h)) as log_h by (apply ln_INR_nonneg; lia).
  rewrite <- response_slope_states, <- moved_1 by assumption.
  pose proof (taylor_2 (fun t => response_entropy n h (moved z t d)) (response_slope n h z d)
    (response_curvature n h z d) (INR h * s ^ 2 * (1 + ln (INR h) + INR h * ln (INR n)))) as taylor.
  cbv beta in taylor; rewrite moved_0 in taylor.
  replace (INR h * (1 + ln (INR h) + INR h * ln (INR n)) * D / 4)
    with (INR h * s ^ 2 * (1 + ln (INR h) + INR h * ln (INR n)) / 2) by (rewrite <- square; field).
  apply taylor.
  - intros; apply is_derive_response_slope, some.
  - intros; apply is_derive_response_curvature, some.
  - intros t _; apply Rabs_le; split.
    + apply Rle_trans with (2 := curvature_lower n h z d some s size t).
      assert (0 <= INR h * s ^ 2 * ln (INR h)); [|lra].
      repeat apply Rmult_le_pos; try assumption; [apply pos_INR|lra].
    + apply (curvature_upper n h z d some s s_nonneg size t several long).
Qed.
