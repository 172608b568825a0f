(** Token trees under exact tempered REINFORCE: what happens to tokens after which no right response is
    left. A token is viable if some right response goes on from it. Nonviable logits fall and the sum of
    the viable ones never does, at every state and every temperature; so the probability of a right
    response tends to one. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees.
Import ListNotations.
Open Scope R_scope.

(** * Right responses *)

Definition indicator (b : bool) : R := if b then 1 else 0.
Definition number_right (n h : nat) (right : state -> bool) : R :=
  sum_responses n h (fun y => indicator (right y)).
(** The probability of a right response. *)
Definition success (n h : nat) (z : policy) (right : state -> bool) : R :=
  sum_responses n h (fun y => probability n z y * indicator (right y)).
Definition tempered_policy (T : R) (z : policy) : policy := fun s => tempered T (z s).
(** The probability of passing s, choosing a and ending right. *)
Definition rewarded (n h : nat) (z : policy) (right : state -> bool) : state -> vector :=
  total_through n h (fun y => probability n z y * indicator (right y)).
(** Tempered REINFORCE in expectation: responses are drawn at temperature T, and each right one adds
    the derivative of its log-probability with respect to the logit of token a at state s. *)
Definition tempered_reinforce (n h : nat) (T : R) (z : policy) (right : state -> bool) : policy :=
  fun s a => rewarded n h (tempered_policy T z) right s a
             - sum n (rewarded n h (tempered_policy T z) right s) * softmax n (z s) a.

Lemma indicator_range b : 0 <= indicator b <= 1.
Proof. destruct b; simpl; lra. Qed.

Lemma number_right_nonneg n h right : 0 <= number_right n h right.
Proof. apply sum_responses_nonneg; intros; apply indicator_range. Qed.

Lemma success_step n k z right :
  success n (S k) z right
  = sum n (fun a => softmax n (z []) a * success n k (after a z) (after a right)).
Proof.
  unfold success; simpl; apply sum_ext; intros a _.
  rewrite <- sum_responses_scal; apply sum_responses_ext; intros y _.
  unfold after; simpl; unfold after; ring.
Qed.

Lemma success_range n h z right : (0 < n)%nat -> 0 <= success n h z right <= 1.
Proof.
  intros some; split.
  - apply sum_responses_nonneg; intros y _; apply Rmult_le_pos;
      [apply Rlt_le, probability_pos, some|apply indicator_range].
  - rewrite <- (probability_sum n h z some); apply sum_responses_le; intros y _.
    pose proof (probability_pos n z y some); pose proof (indicator_range (right y)).
    rewrite <- (Rmult_1_r (probability n z y)) at 2; apply Rmult_le_compat_l; lra.
Qed.

Lemma success_impossible n h z right : number_right n h right = 0 -> success n h z right = 0.
Proof.
  revert z right; induction h as [|k IH]; intros z right none.
  - unfold success, number_right in *; simpl in *; rewrite none; ring.
  - rewrite success_step, <- (sum_zero n); apply sum_ext; intros a inside.
    rewrite IH; [ring|].
    apply Rle_antisym; [|apply number_right_nonneg].
    rewrite <- none; unfold number_right; simpl.
    apply (sum_ge_term n (fun b => sum_responses n k (after b (fun y => indicator (right y)))));
      [|exact inside].
    intros; apply sum_responses_nonneg; intros; apply indicator_range.
Qed.

(** * The step, seen from the root *)

Lemma rewarded_root n k z right a :
  rewarded n (S k) z right [] a = softmax n (z []) a * success n k (after a z) (after a right).
Proof.
  unfold rewarded, total_through; simpl length; rewrite Nat.sub_succ, Nat.sub_0_r.
  unfold success; rewrite <- sum_responses_scal; apply sum_responses_ext; intros y _.
  unfold after; simpl; unfold after; ring.
Qed.

Lemma rewarded_below n k z right b s a :
  rewarded n (S k) z right (b :: s) a
  = softmax n (z []) b * rewarded n k (after b z) (after b right) s a.
Proof.
  unfold rewarded, total_through; simpl length; rewrite Nat.sub_succ.
  rewrite <- sum_responses_scal; apply sum_responses_ext; intros y _.
  unfold after; simpl; unfold after; ring.
Qed.

Lemma reinforce_root n k T z right a :
  tempered_reinforce n (S k) T z right [] a
  = softmax n (tempered T (z [])) a * success n k (after a (tempered_policy T z)) (after a right)
    - softmax n (z []) a * success n (S k) (tempered_policy T z) right.
Proof.
  unfold tempered_reinforce; rewrite rewarded_root, success_step.
  rewrite (sum_ext n (rewarded n (S k) (tempered_policy T z) right [])
             (fun b => softmax n (tempered_policy T z []) b
                       * success n k (after b (tempered_policy T z)) (after b right)))
    by (intros; apply rewarded_root).
  change (tempered_policy T z []) with (tempered T (z [])); ring.
Qed.

Lemma reinforce_below n k T z right b s a :
  tempered_reinforce n (S k) T z right (b :: s) a
  = softmax n (tempered T (z [])) b * tempered_reinforce n k T (after b z) (after b right) s a.
Proof.
  unfold tempered_reinforce; rewrite rewarded_below.
  rewrite (sum_ext n (rewarded n (S k) (tempered_policy T z) right (b :: s))
             (fun c => softmax n (tempered T (z [])) b
                       * rewarded n k (tempered_policy T (after b z)) (after b right) s c))
    by (intros; rewrite rewarded_below; reflexivity).
  rewrite sum_scal; unfold tempered_policy, tempered, after; ring.
Qed.

(** * One state: viable tokens against one that is not *)

Section Gap.

Variables (n : nat) (x : vector) (viable : mask) (b : nat).
Hypothesis some : nonempty n viable.

Lemma count_viable_ge_1 : 1 <= count_on n viable.
Proof.
  destruct some as (a & inside & a_viable).
  assert (only viable (fun _ => 1) a = 1) as one by (unfold only; rewrite a_viable; reflexivity).
  rewrite <- one at 1; apply (sum_ge_term n (only viable (fun _ => 1))); [|exact inside].
  intros c _; unfold only; destruct (viable c); lra.
Qed.

(** The mean logit of the viable tokens, minus the logit of b. *)
Definition gap : R := total_on n viable x / count_on n viable - x b.

(** The mean of exponentials is at least the exponential of the mean. *)
Lemma viable_exponentials :
  count_on n viable * exp (total_on n viable x / count_on n viable)
  <= total_on n viable (fun a => exp (x a)).
Proof.
  pose proof count_viable_ge_1 as at_least_one.
  set (mu := total_on n viable x / count_on n viable).
  apply Rle_trans with (sum n (fun a => exp mu * (only viable x a + (1 - mu) * only viable (fun _ => 1) a))).
  - rewrite sum_scal, sum_plus, sum_scal; fold (total_on n viable x).
    change (sum n (only viable (fun _ => 1))) with (count_on n viable).
    replace (total_on n viable x) with (mu * count_on n viable) by (unfold mu; field; lra).
    apply Req_le; ring.
  - unfold total_on; apply sum_le; intros a _; unfold only; destruct (viable a); [|lra].
    replace (exp (x a)) with (exp mu * exp (x a - mu)) by (rewrite <- exp_plus; f_equal; ring).
    apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|].
    pose proof (exp_ineq1_le (x a - mu)); lra.
Qed.

Lemma exponential_below_gap :
  exp (x b) <= exp (- gap) * total_on n viable (fun a => exp (x a)).
Proof.
  pose proof count_viable_ge_1 as at_least_one.
  pose proof viable_exponentials as jensen.
  set (mu := total_on n viable x / count_on n viable) in *.
  replace (exp (x b)) with (exp (- gap) * exp mu)
    by (rewrite <- exp_plus; f_equal; unfold gap; fold mu; ring).
  apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|].
  apply Rle_trans with (count_on n viable * exp mu); [|exact jensen].
  rewrite <- (Rmult_1_l (exp mu)) at 1; apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|exact at_least_one].
Qed.

Lemma total_on_le_sum f : (forall a, (a < n)%nat -> 0 <= f a) -> total_on n viable f <= sum n f.
Proof.
  intros nonneg; apply sum_le; intros a inside; unfold only.
  specialize (nonneg a inside); destruct (viable a); lra.
Qed.

Lemma softmax_below_gap : (0 < n)%nat -> softmax n x b <= exp (- gap).
Proof.
  intros n_positive; pose proof (normalizer_pos n x n_positive) as positive.
  unfold softmax; apply Rmult_le_reg_r with (sum n (fun a => exp (x a))); [exact positive|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  eapply Rle_trans; [apply exponential_below_gap|].
  apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|].
  apply total_on_le_sum; intros; apply Rlt_le, exp_pos.
Qed.

End Gap.

Lemma gap_tempered n x viable b T :
  gap n (tempered T x) viable b = gap n x viable b / T.
Proof.
  unfold gap, tempered, total_on.
  rewrite (sum_ext n _ (fun a => only viable x a / T)), sum_div.
  - unfold Rdiv; ring.
  - intros a _; unfold only; destruct (viable a); unfold Rdiv; ring.
Qed.

(** Gaps bounded from below leave a share of the probability to the viable tokens. *)
Lemma viable_share n x viable C :
  (0 < n)%nat -> nonempty n viable -> 0 <= C ->
  (forall b, (b < n)%nat -> viable b = false -> exp (- gap n x viable b) <= C) ->
  / (1 + INR n * C) <= total_on n viable (softmax n x).
Proof.
  intros n_positive some C_nonneg far.
  pose proof (normalizer_pos n x n_positive) as positive.
  pose proof (pos_INR n) as size.
  set (V := total_on n viable (fun a => exp (x a))).
  replace (total_on n viable (softmax n x)) with (V / sum n (fun a => exp (x a))).
  2:{ unfold V, total_on, softmax; rewrite <- sum_div; apply sum_ext; intros a _; unfold only.
      destruct (viable a); unfold Rdiv; ring. }
  assert (0 <= V) as V_nonneg
    by (apply sum_nonneg; intros a _; unfold only; destruct (viable a); [apply Rlt_le, exp_pos|lra]).
  assert (sum n (fun a => exp (x a)) <= V + INR n * C * V) as normalizer.
  { replace (V + INR n * C * V) with (sum n (fun a => only viable (fun c => exp (x c)) a + C * V))
      by (rewrite sum_plus, sum_const; fold (total_on n viable (fun c => exp (x c))); unfold V; ring).
    apply sum_le; intros a inside; unfold only; destruct (viable a) eqn:kind.
    - assert (0 <= C * V) by (apply Rmult_le_pos; assumption); lra.
    - rewrite Rplus_0_l; eapply Rle_trans; [apply (exponential_below_gap n x viable a some)|].
      apply Rmult_le_compat_r; [exact V_nonneg|apply far; assumption]. }
  assert (0 <= INR n * C) by (apply Rmult_le_pos; assumption).
  apply Rmult_le_reg_r with (sum n (fun a => exp (x a))); [exact positive|].
  unfold Rdiv; rewrite (Rmult_assoc V), Rinv_l, Rmult_1_r by lra.
  apply Rmult_le_reg_l with (1 + INR n * C); [lra|].
  rewrite <- Rmult_assoc, Rinv_r by lra; lra.
Qed.

(** A token that keeps its probability keeps some at every temperature from the lowest on. *)
Lemma tempered_share n x a d lowest T :
  (a < n)%nat -> 0 < d -> d <= softmax n x a -> 0 < lowest -> lowest <= T ->
  exp (ln d / lowest) / INR n <= softmax n (tempered T x) a.
Proof.
  intros inside d_positive kept lowest_positive above.
  assert (0 < n)%nat as some by lia.
  assert (0 < INR n) as size by (apply lt_0_INR, some).
  pose proof (normalizer_pos n x some) as positive.
  assert (d <= 1) as d_below by (eapply Rle_trans; [exact kept|apply softmax_le_1, inside]).
  assert (ln d <= 0) as log_d.
  { rewrite <- ln_1; destruct (Rle_lt_or_eq_dec _ _ d_below) as [less|same];
      [apply Rlt_le, ln_increasing; lra|rewrite same; lra]. }
  assert (forall b, (b < n)%nat -> exp (tempered T x b)
            <= exp (tempered T x a) * exp (- (ln d / lowest))) as each.
  { intros b b_inside; rewrite <- exp_plus; unfold tempered.
    assert (x b - x a <= - ln d) as near.
    { assert (d * exp (x b) <= exp (x a)) as ratio.
      { apply Rle_trans with (d * sum n (fun c => exp (x c))).
        - apply Rmult_le_compat_l; [lra|].
          apply (sum_ge_term n (fun c => exp (x c))); [intros; apply Rlt_le, exp_pos|exact b_inside].
        - apply Rmult_le_reg_r with (/ sum n (fun c => exp (x c)));
            [apply Rinv_0_lt_compat, positive|].
          rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra; exact kept. }
      rewrite <- (exp_ln d) in ratio at 1 by exact d_positive; rewrite <- exp_plus in ratio.
      destruct (Rle_lt_dec (x b - x a) (- ln d)) as [fine|large]; [exact fine|].
      assert (exp (x a) < exp (ln d + x b)) by (apply exp_increasing; lra); lra. }
    destruct (Rle_lt_or_eq_dec (x b / T) (x a / T + - (ln d / lowest))) as [less|same];
      [|apply Rlt_le, exp_increasing, less|rewrite same; lra].
    apply Rle_trans with (x a / T + - ln d / T).
    - replace (x b / T) with (x a / T + (x b - x a) / T) by (field; lra).
      apply Rplus_le_compat_l; unfold Rdiv; apply Rmult_le_compat_r; [|exact near].
      apply Rlt_le, Rinv_0_lt_compat; lra.
    - apply Rplus_le_compat_l.
      replace (- (ln d / lowest)) with (- ln d / lowest) by (field; lra).
      unfold Rdiv; apply Rmult_le_compat_l; [lra|]; apply Rinv_le_contravar; assumption. }
  pose proof (normalizer_pos n (tempered T x) some) as positive_T.
  unfold softmax; apply Rmult_le_reg_r with (sum n (fun b => exp (tempered T x b))); [exact positive_T|].
  unfold Rdiv at 3; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (exp (ln d / lowest) / INR n
    * sum n (fun _ => exp (tempered T x a) * exp (- (ln d / lowest)))).
  - apply Rmult_le_compat_l; [|apply sum_le, each].
    apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|exact size].
  - rewrite sum_const; apply Req_le.
    replace (exp (tempered T x a)) with
      (exp (tempered T x a) * (exp (ln d / lowest) * exp (- (ln d / lowest)))) at 2.
    + field; lra.
    + rewrite <- exp_plus, Rplus_opp_r, exp_0; ring.
Qed.
