(** What the optimum of an entropy bonus gives away, B(k, m) = (k - m)/(m e^{1/lambda} + k - m) for k tokens of
    which m are right: it falls as right tokens become denser. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks.
Open Scope R_scope.

Definition bias (tokens right coefficient : R) : R :=
  (tokens - right) / (right * exp (1 / coefficient) + (tokens - right)).

(** It is what softmax(r/lambda) gives away. *)
Lemma bias_is_value_given_away n correct coefficient :
  (0 < n)%nat -> 0 < coefficient ->
  1 - total_on n correct (softmax n (fun a => only correct (fun _ => 1) a / coefficient))
  = bias (INR n) (count_on n correct) coefficient.
Proof.
  intros some positive; set (E := exp (1 / coefficient)).
  assert (E_positive : 0 < E) by apply exp_pos.
  assert (weight : forall a, exp (only correct (fun _ => 1) a / coefficient)
                             = only correct (fun _ => E) a + only (complement correct) (fun _ => 1) a).
  { intros a; unfold only, complement, E; destruct (correct a); simpl; [ring|].
    unfold Rdiv; rewrite Rmult_0_l, exp_0; ring. }
  assert (normalizer : sum n (fun b => exp (only correct (fun _ => 1) b / coefficient))
                       = count_on n correct * E + count_on n (complement correct)).
  { rewrite (sum_ext n _ (fun b => only correct (fun _ => E) b + only (complement correct) (fun _ => 1) b))
      by (intros; apply weight).
    rewrite sum_plus; fold (total_on n correct (fun _ => E)); rewrite total_on_const; reflexivity. }
  pose proof (normalizer_pos n (fun a => only correct (fun _ => 1) a / coefficient) some) as Z_positive.
  cbv beta in Z_positive; rewrite normalizer in Z_positive.
  assert (right : total_on n correct (softmax n (fun a => only correct (fun _ => 1) a / coefficient))
                  = count_on n correct * E / (count_on n correct * E + count_on n (complement correct))).
  { rewrite (total_on_ext n correct _
      (fun _ => E / (count_on n correct * E + count_on n (complement correct)))).
    - rewrite total_on_const; field; lra.
    - intros a _ member; unfold softmax; rewrite normalizer, weight.
      replace (only correct (fun _ => E) a + only (complement correct) (fun _ => 1) a) with E;
        [field; lra|].
      unfold only, complement; rewrite member; simpl; ring. }
  rewrite right; unfold bias; fold E.
  replace (INR n - count_on n correct) with (count_on n (complement correct))
    by (rewrite <- (count_on_complement n correct); ring).
  field; lra.
Qed.

Section Counts.

(** m of n tokens are right, and m' of the k kept ones. *)
Variables (n m k kept_right coefficient : R).
Hypothesis (m_positive : 0 < m) (m_most : m <= n) (k_positive : 0 < k).
Hypothesis (kept_nonneg : 0 <= kept_right) (kept_most : kept_right <= k).

Let E := exp (1 / coefficient).

Lemma E_positive : 0 < E.
Proof. apply exp_pos. Qed.

Lemma all_weight_positive : 0 < m * E + (n - m).
Proof. assert (0 < m * E) by (apply Rmult_lt_0_compat; [assumption|apply E_positive]); lra. Qed.

Lemma kept_weight_positive : 0 < kept_right * E + (k - kept_right).
Proof.
  pose proof E_positive.
  destruct kept_nonneg as [some|none].
  - assert (0 < kept_right * E) by (apply Rmult_lt_0_compat; assumption); lra.
  - rewrite <- none; lra.
Qed.

Lemma difference_of_biases :
  bias n m coefficient - bias k kept_right coefficient
  = E * (kept_right * n - m * k) / ((m * E + (n - m)) * (kept_right * E + (k - kept_right))).
Proof.
  unfold bias; fold E; pose proof all_weight_positive; pose proof kept_weight_positive; field; lra.
Qed.

Let scale := E / ((m * E + (n - m)) * (kept_right * E + (k - kept_right))).

Lemma scale_positive : 0 < scale.
Proof.
  apply Rdiv_lt_0_compat; [exact E_positive|].
  apply Rmult_lt_0_compat; [apply all_weight_positive|apply kept_weight_positive].
Qed.

Lemma difference_is_scaled :
  bias n m coefficient - bias k kept_right coefficient = scale * (kept_right * n - m * k).
Proof. rewrite difference_of_biases; unfold scale, Rdiv; ring. Qed.

Lemma less_biased_iff_denser :
  bias k kept_right coefficient <= bias n m coefficient <-> m * k <= kept_right * n.
Proof.
  pose proof scale_positive as positive; pose proof difference_is_scaled as same; split; intros given.
  - apply (Rmult_le_reg_l scale); [exact positive|lra].
  - apply (Rmult_le_compat_l scale) in given; lra.
Qed.

Lemma same_sign :
  0 <= (bias n m coefficient - bias k kept_right coefficient) * (kept_right * n - m * k).
Proof.
  rewrite difference_is_scaled, Rmult_assoc; apply Rmult_le_pos; [apply Rlt_le, scale_positive|].
  apply Rle_0_sqr.
Qed.

Lemma both_vanish :
  bias n m coefficient - bias k kept_right coefficient = 0 <-> kept_right * n - m * k = 0.
Proof.
  rewrite difference_is_scaled; pose proof scale_positive; split; intros given.
  - apply Rmult_integral in given as [|]; lra.
  - rewrite given; ring.
Qed.

End Counts.
