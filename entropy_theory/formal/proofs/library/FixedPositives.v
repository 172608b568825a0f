(** A fixed number of positive samples: the step q^T - pi, q^T = pi^T( . | A* ), its entropy rate
    G(T) = C - E_{q^T} c = F(T)/P_T, and how E_{q^T} c depends on the temperature. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Tilt TemperedReinforce OwnCovariance.
Open Scope R_scope.

(** q^T: pi^T given that the action is one of the chosen. *)
Definition tempered_conditional (n : nat) (logits : vector) (chosen : mask) (temperature : R) : vector :=
  fun a =>
    only chosen (softmax n (tempered temperature logits)) a
    / total_on n chosen (softmax n (tempered temperature logits)).

(** G(T) = -Cov_pi(z, q^T - pi), as in [entropy_theory/claims/aepo/fixed_positives.py]. *)
Definition fixed_rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - covariance n (softmax n logits) logits
      (fun a => tempered_conditional n logits correct temperature a - softmax n logits a).

(** Cov_pi(z, f) = sum_a c_a f_a *)
Lemma covariance_as_own n z f :
  (0 < n)%nat -> covariance n (softmax n z) z f = sum n (fun a => own_covariance n z a * f a).
Proof.
  intros some; rewrite covariance_centered_l by (apply softmax_sum, some).
  apply sum_ext; intros; unfold own_covariance; ring.
Qed.

Section FixedPositives.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : (0 < n)%nat.
Hypothesis some_correct : nonempty n A.

Let c := own_covariance n z.
Let P T := total_on n A (softmax n (tempered T z)).

(** E_{q^T} c *)
Definition own_mean (T : R) : R := sum n (fun a => tempered_conditional n z A T a * own_covariance n z a).

Lemma total_softmax_pos y : 0 < total_on n A (softmax n y).
Proof.
  destruct some_correct as (a & inside & correct).
  apply (total_on_pos_term n A _ a); [|assumption|assumption|apply softmax_pos, some].
  intros; apply Rlt_le, softmax_pos, some.
Qed.

Lemma total_softmax_le_1 y : total_on n A (softmax n y) <= 1.
Proof.
  rewrite <- (softmax_sum n y some); apply sum_le; intros a _; unfold only.
  pose proof (softmax_pos n y a some); destruct (A a); lra.
Qed.

Lemma sum_conditional T : sum n (tempered_conditional n z A T) = 1.
Proof.
  unfold tempered_conditional; rewrite sum_div; fold (total_on n A (softmax n (tempered T z))).
  pose proof (total_softmax_pos (tempered T z)); field; lra.
Qed.

Lemma own_mean_eq T : own_mean T = total_on n A (fun a => softmax n (tempered T z) a * c a) / P T.
Proof.
  unfold own_mean, tempered_conditional; unfold total_on at 2; rewrite <- sum_div; apply sum_ext; intros a _.
  unfold only, P; pose proof (total_softmax_pos (tempered T z)).
  fold c; destruct (A a); field; lra.
Qed.

Lemma fixed_rate_eq T : fixed_rate n z A T = mean n (softmax n z) c - own_mean T.
Proof.
  unfold fixed_rate, own_mean; rewrite covariance_as_own by assumption.
  rewrite (sum_ext n _ (fun a => tempered_conditional n z A T a * c a - softmax n z a * c a))
    by (intros; unfold c; ring).
  rewrite sum_minus; unfold mean, c; ring.
Qed.

(** F(T) = P_T G(T) *)
Lemma rate_is_fixed_rate T : rate n z A T = P T * fixed_rate n z A T.
Proof.
  rewrite fixed_rate_eq, own_mean_eq.
  pose proof (total_softmax_pos (tempered T z)) as positive; fold (P T) in positive.
  replace (P T * (mean n (softmax n z) c - total_on n A (fun a => softmax n (tempered T z) a * c a) / P T))
    with (- (total_on n A (fun a => softmax n (tempered T z) a * c a) - mean n (softmax n z) c * P T))
    by (field; lra).
  unfold rate, P; f_equal; rewrite <- total_on_scal, <- total_on_minus.
  apply total_on_ext; intros; rewrite excess_eq; unfold c; ring.
Qed.

(** The conditional probabilities as they are computed: exponentials relative to the largest chosen logit. *)
Lemma tempered_conditional_eq T a :
  0 < T -> (a < n)%nat ->
  tempered_conditional n z A T a
  = only A (fun b => exp ((z b - largest_on n A z) / T)) a
    / total_on n A (fun b => exp ((z b - largest_on n A z) / T)).
Proof.
  intros positive inside; unfold tempered_conditional.
  set (top := largest_on n A z); set (shift := exp (top / T) / sum n (fun b => exp (z b / T))).
  pose proof (normalizer_pos n (fun b => z b / T) some) as normalizer; simpl in normalizer.
  assert (forall b, (b < n)%nat -> softmax n (tempered T z) b = shift * exp ((z b - top) / T)) as shifted.
  { intros b _; unfold softmax, tempered, shift.
    replace (z b / T) with (top / T + (z b - top) / T) by (field; lra).
    rewrite exp_plus; field; lra. }
  rewrite (total_on_ext n A _ (fun b => shift * exp ((z b - top) / T))) by (intros; apply shifted; assumption).
  rewrite total_on_scal.
  assert (0 < shift) as shift_pos by (apply Rdiv_lt_0_compat; [apply exp_pos|assumption]).
  assert (0 < total_on n A (fun b => exp ((z b - top) / T))) as total_pos.
  { destruct some_correct as (b & b_inside & b_correct).
    apply (total_on_pos_term n A _ b); [intros; apply Rlt_le, exp_pos|assumption|assumption|apply exp_pos]. }
  unfold only; destruct (A a); [rewrite shifted by assumption|]; field; lra.
Qed.

(** Where E_{q^T} c is not negative, it is larger at lower temperatures: c crosses any level m >= 0 once, so that
    sum_{A*} e^{b (z_a - y)} (c_a - m) does not decrease in b = 1/T. *)
Lemma own_mean_when_colder T T' :
  0 < T' -> T' <= T -> 0 <= own_mean T -> own_mean T <= own_mean T'.
Proof.
  intros positive colder nonneg.
  set (m := own_mean T) in *.
  destruct (own_covariance_crosses n z some m nonneg) as (y & _ & _ & high & low).
  assert (forall t, 0 < t ->
            total_on n A (fun a => exp (/ t * (z a - y)) * (c a - m))
            = sum n (fun b => exp (z b / t)) / exp (/ t * y) * (P t * (own_mean t - m))) as rescaled.
  { intros t t_pos; rewrite own_mean_eq.
    pose proof (total_softmax_pos (tempered t z)) as mass; fold (P t) in mass.
    replace (P t * (total_on n A (fun a => softmax n (tempered t z) a * c a) / P t - m))
      with (total_on n A (fun a => softmax n (tempered t z) a * c a) - m * P t) by (field; lra).
    unfold P; rewrite <- total_on_scal, <- total_on_minus, <- total_on_scal.
    apply total_on_ext; intros a inside _; unfold softmax, tempered.
    replace (z a / t) with (/ t * y + / t * (z a - y)) by (field; lra).
    rewrite exp_plus.
    pose proof (normalizer_pos n (fun b => z b / t) some); simpl in *.
    pose proof (exp_pos (/ t * y)); field; lra. }
  assert (total_on n A (fun a => exp (/ T * (z a - y)) * (c a - m))
          <= total_on n A (fun a => exp (/ T' * (z a - y)) * (c a - m))) as grows.
  { assert (/ T <= / T') as inverse by (apply Rinv_le_contravar; assumption).
    apply total_on_le; intros a inside _.
    destruct (Rtotal_order (c a) m) as [below|[same|above]].
    - specialize (low a inside below).
      assert (exp (/ T' * (z a - y)) <= exp (/ T * (z a - y))) by (apply exp_nondecreasing; nra).
      nra.
    - rewrite same; lra.
    - specialize (high a inside above).
      assert (exp (/ T * (z a - y)) <= exp (/ T' * (z a - y))) by (apply exp_nondecreasing; nra).
      nra. }
  rewrite (rescaled T), (rescaled T') in grows by lra; fold m in grows.
  rewrite Rminus_diag_eq in grows by reflexivity.
  rewrite !Rmult_0_r in grows.
  assert (0 < sum n (fun b => exp (z b / T')) / exp (/ T' * y)) as factor.
  { apply Rdiv_lt_0_compat; [apply (normalizer_pos n (fun b => z b / T') some)|apply exp_pos]. }
  pose proof (total_softmax_pos (tempered T' z)) as mass; fold (P T') in mass.
  assert (0 < sum n (fun b => exp (z b / T')) / exp (/ T' * y) * P T') by (apply Rmult_lt_0_compat; assumption).
  nra.
Qed.

(** If E_q c is not negative at T = 1, G rises with T through G(1). *)
Lemma fixed_rate_crosses T :
  0 < T -> 0 <= own_mean 1 -> 0 <= (T - 1) * (own_mean 1 - own_mean T).
Proof.
  intros positive nonneg.
  destruct (Rle_or_lt T 1) as [cold|hot].
  - pose proof (own_mean_when_colder 1 T positive cold nonneg); nra.
  - assert (own_mean T <= own_mean 1); [|nra].
    destruct (Rle_or_lt 0 (own_mean T)) as [up|down]; [|lra].
    apply own_mean_when_colder; lra.
Qed.

End FixedPositives.
