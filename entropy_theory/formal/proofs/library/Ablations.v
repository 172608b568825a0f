(** AEPO's ablations (2) and (3), where tempered samples carry the centered reward, or T = 1: the right answers
    draw apart, whatever the temperature. In the exact expected step a right logit moves by x pi_a + y pi^T_a with
    x, y >= 0, in the order of the logits, and every wrong logit falls. So the entropy of q = pi( . | A) never
    rises. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional
  Directions Learning.
Open Scope R_scope.

(** sum_a pi^T_a (1_A(a) - P_T)(e_a - pi) = pi^T (1_A - P_T) *)
Definition advantage_step (n : nat) (z : vector) (correct : mask) (temperature : R) : vector :=
  let hot := softmax n (tempered temperature z) in
  fun a => hot a * (if correct a then total_on n (complement correct) hot else - total_on n correct hot).
(** GRPO of weight kappa with the tempered term of weight w, per unit learning rate. *)
Definition ablated_step (n : nat) (z : vector) (correct : mask) (temperature kappa w : R) : vector :=
  fun a => kappa * advantage_step n z correct 1 a + w * advantage_step n z correct temperature a.

(** * The score of the centered reward *)

(** The term in pi vanishes, because the centered rewards have mean zero under pi^T. *)
Lemma advantage_step_is_expectation n z (A : mask) T a :
  (a < n)%nat ->
  sum n (fun b => softmax n (tempered T z) b
                  * ((if A b then 1 else 0) - total_on n A (softmax n (tempered T z)))
                  * ((if Nat.eqb b a then 1 else 0) - softmax n z a))
  = advantage_step n z A T a.
Proof.
  intros inside; assert (0 < n)%nat as some by lia.
  set (hot := softmax n (tempered T z)); set (P := total_on n A hot).
  assert (sum n (fun b => hot b * ((if A b then 1 else 0) - P)) = 0) as mean_zero.
  { rewrite (sum_ext n _ (fun b => only A hot b - P * hot b)).
    - rewrite sum_minus, sum_scal; unfold hot at 2; rewrite softmax_sum by assumption.
      fold (total_on n A hot); unfold P; ring.
    - intros b _; unfold only; destruct (A b); ring. }
  assert (sum n (fun b => hot b * ((if A b then 1 else 0) - P) * (if Nat.eqb b a then 1 else 0))
          = hot a * ((if A a then 1 else 0) - P)) as own.
  { exact (sum_unit_vector n (fun b => hot b * ((if A b then 1 else 0) - P)) a inside). }
  rewrite (sum_ext n _ (fun b => hot b * ((if A b then 1 else 0) - P) * (if Nat.eqb b a then 1 else 0)
                                 - hot b * ((if A b then 1 else 0) - P) * softmax n z a))
    by (intros; ring).
  rewrite sum_minus, own, sum_scal_r, mean_zero; unfold advantage_step; fold hot P.
  assert (total_on n (complement A) hot = 1 - P) as ->.
  { pose proof (total_on_complement n A hot) as all; unfold hot in all at 3.
    rewrite softmax_sum in all by assumption; fold hot P in all; lra. }
  destruct (A a); ring.
Qed.

(** At T = 1 AEPO's own term is GRPO's direction. *)
Lemma unit_step_1 n z A a : (a < n)%nat -> unit_step n z A 1 a = advantage_step n z A 1 a.
Proof.
  intros inside; assert (0 < n)%nat as some by lia.
  unfold unit_step, advantage_step.
  pose proof (total_on_complement n A (softmax n (tempered 1 z))) as all.
  rewrite softmax_sum in all by assumption.
  rewrite <- (softmax_tempered_1 n z a) by assumption; unfold only; destruct (A a).
  - replace (total_on n (complement A) (softmax n (tempered 1 z)))
      with (1 - total_on n A (softmax n (tempered 1 z))) by lra; ring.
  - ring.
Qed.

(** * Tilting by an increasing function lowers the conditional entropy *)

Section Tilting.

Variables (n : nat) (A : mask) (z y : vector).
Hypothesis some : nonempty n A.
(** The change is ordered like the logits. *)
Hypothesis apart : forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true ->
  0 <= (z a - z b) * ((y a - z a) - (y b - z b)).

Let q := conditional n z A.
Let q' := conditional n y A.

Lemma tilted_mean f :
  mean n q' f * mean n q (fun a => exp (y a - z a)) = mean n q (fun a => exp (y a - z a) * f a).
Proof.
  unfold q, q'; rewrite !mean_conditional, <- total_on_scal_r.
  apply total_on_ext; intros a inside chosen.
  rewrite !conditional_in by assumption.
  pose proof (weight_pos n A some z) as S_pos; pose proof (weight_pos n A some y) as S'_pos.
  assert (total_on n A (fun b => conditional n z A b * exp (y b - z b))
          = total_on n A (fun b => exp (y b)) / total_on n A (fun b => exp (z b))) as ->.
  { rewrite <- total_on_div; apply total_on_ext; intros b b_inside b_chosen.
    rewrite conditional_in by assumption; unfold Rminus; rewrite exp_plus, exp_Ropp.
    pose proof (exp_pos (z b)); field; lra. }
  unfold Rminus; rewrite exp_plus, exp_Ropp; pose proof (exp_pos (z a)); field; lra.
Qed.

Lemma tilted_mean_rises : mean n q z <= mean n q' z.
Proof.
  assert (0 < mean n q (fun a => exp (y a - z a))) as normalizer.
  { unfold q; rewrite mean_conditional; apply total_on_pos; [exact some|]; intros a inside chosen.
    apply Rmult_lt_0_compat; [apply conditional_pos; assumption|apply exp_pos]. }
  apply Rmult_le_reg_r with (mean n q (fun a => exp (y a - z a))); [assumption|].
  rewrite tilted_mean.
  assert (0 <= covariance n q (fun a => exp (y a - z a)) z) as chebyshev.
  { apply conditional_covariance_nonneg; [exact some|]; intros a b a_inside b_inside a_chosen b_chosen.
    specialize (apart a b a_inside b_inside a_chosen b_chosen).
    destruct (Rtotal_order (z a) (z b)) as [below|[same|above]].
    - assert (y a - z a <= y b - z b).
      { apply Rmult_le_reg_l with (z b - z a); lra. }
      pose proof (exp_le (y a - z a) (y b - z b) ltac:(assumption)).
      rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra.
    - rewrite same; lra.
    - assert (y b - z b <= y a - z a).
      { apply Rmult_le_reg_l with (z a - z b); lra. }
      pose proof (exp_le (y b - z b) (y a - z a) ltac:(assumption)); apply Rmult_le_pos; lra. }
  unfold q in chebyshev; rewrite covariance_eq in chebyshev by (apply conditional_sum, some).
  fold q in chebyshev; lra.
Qed.

Theorem tilting_lowers_entropy : conditional_entropy n y A <= conditional_entropy n z A.
Proof.
  pose proof (weight_pos n A some z) as S_pos.
  set (S := total_on n A (fun b => exp (z b))) in *.
  assert (forall a, A a = true -> ln (q a) = z a - ln S) as log_q.
  { intros a chosen; unfold q; rewrite conditional_in by assumption; fold S.
    rewrite ln_div, ln_exp by (apply exp_pos || assumption); reflexivity. }
  assert (forall p, total_on n A p = 1 ->
            total_on n A (fun a => p a * ln (q a)) = total_on n A (fun a => p a * z a) - ln S) as cross.
  { intros p one; rewrite (total_on_ext n A _ (fun a => p a * z a - p a * ln S)).
    - rewrite total_on_minus, total_on_scal_r, one; ring.
    - intros a inside chosen; rewrite log_q by assumption; ring. }
  assert (total_on n A (fun a => q' a * ln (q a)) <= total_on n A (fun a => q' a * ln (q' a))) as gibbs.
  { assert (total_on n A (fun a => q' a * (ln (q a) - ln (q' a))) <= 0) as below.
    { apply Rle_trans with (total_on n A (fun a => q a - q' a)).
      - apply total_on_le; intros a inside chosen; apply gibbs_term; apply conditional_pos; assumption.
      - rewrite total_on_minus; unfold q, q'; rewrite !conditional_total by assumption; lra. }
    rewrite (total_on_ext n A _ (fun a => q' a * ln (q a) - q' a * ln (q' a))) in below by (intros; ring).
    rewrite total_on_minus in below; lra. }
  unfold conditional_entropy; apply Ropp_le_contravar.
  apply Rle_trans with (2 := gibbs); fold q.
  rewrite !cross by (apply conditional_total; assumption).
  pose proof tilted_mean_rises as rises; unfold q, q' in rises; rewrite !mean_conditional in rises.
  unfold q, q'; lra.
Qed.

End Tilting.

(** * One step *)

Section Step.

Variables (n : nat) (z : vector) (A : mask) (T kappa w eta : R).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).
Hypothesis T_pos : 0 < T.
Hypothesis kappa_nonneg : 0 <= kappa.
Hypothesis w_nonneg : 0 <= w.
Hypothesis eta_nonneg : 0 <= eta.

Let pi := softmax n z.
Let hot := softmax n (tempered T z).
Let missed := total_on n (complement A) pi.
Let missed_T := total_on n (complement A) hot.
Let p := total_on n A pi.
Let P := total_on n A hot.
Let step := ablated_step n z A T kappa w.
Let after_step := moved eta z step.
(** The push of the step: no logit moves by more. *)
Definition push := eta * (kappa * missed + w * missed_T).

Lemma masses : 0 < missed /\ 0 < missed_T /\ 0 < p /\ 0 < P /\ p + missed = 1 /\ P + missed_T = 1.
Proof.
  repeat split; try (apply wrong_mass_pos; assumption); try (apply right_mass_pos; assumption);
    apply masses_sum; assumption.
Qed.

Lemma untempered_total B : total_on n B (softmax n (tempered 1 z)) = total_on n B pi.
Proof. apply total_on_ext; intros; apply softmax_tempered_1; assumption. Qed.

Lemma ablated_right a :
  (a < n)%nat -> A a = true -> step a = kappa * missed * pi a + w * missed_T * hot a.
Proof.
  intros inside chosen; unfold step, ablated_step, advantage_step; rewrite chosen.
  rewrite untempered_total, softmax_tempered_1 by assumption; fold pi hot missed missed_T; ring.
Qed.

Lemma ablated_wrong a :
  (a < n)%nat -> A a = false -> step a = - (kappa * p * pi a + w * P * hot a).
Proof.
  intros inside out; unfold step, ablated_step, advantage_step; rewrite out.
  rewrite untempered_total, softmax_tempered_1 by assumption; fold pi hot p P; ring.
Qed.

Lemma pi_pos a : 0 < pi a.
Proof. apply softmax_pos, (nonempty_inhabited n A some). Qed.

Lemma hot_pos a : 0 < hot a.
Proof. apply softmax_pos, (nonempty_inhabited n A some). Qed.

Lemma right_weights_nonneg : 0 <= kappa * missed /\ 0 <= w * missed_T /\ 0 <= kappa * p /\ 0 <= w * P.
Proof. destruct masses as (? & ? & ? & ? & _); repeat split; apply Rmult_le_pos; lra. Qed.

Lemma right_logit_rises a : (a < n)%nat -> A a = true -> 0 <= step a.
Proof.
  intros inside chosen; rewrite ablated_right by assumption.
  destruct right_weights_nonneg as (? & ? & _); pose proof (pi_pos a); pose proof (hot_pos a).
  apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra.
Qed.

Lemma wrong_logit_falls a : (a < n)%nat -> A a = false -> step a <= 0.
Proof.
  intros inside out; rewrite ablated_wrong by assumption.
  destruct right_weights_nonneg as (_ & _ & ? & ?); pose proof (pi_pos a); pose proof (hot_pos a).
  assert (0 <= kappa * p * pi a) by (apply Rmult_le_pos; lra).
  assert (0 <= w * P * hot a) by (apply Rmult_le_pos; lra); lra.
Qed.

Lemma same_order_tempered a b : z b <= z a -> tempered T z b <= tempered T z a.
Proof.
  intros below; unfold tempered, Rdiv; apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, T_pos|assumption].
Qed.

(** Right answers draw apart. *)
Theorem draws_apart a b :
  (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> 0 <= (z a - z b) * (step a - step b).
Proof.
  assert (forall c d, (c < n)%nat -> (d < n)%nat -> A c = true -> A d = true -> z d <= z c ->
            0 <= (z c - z d) * (step c - step d)) as ordered.
  { intros c d c_inside d_inside c_chosen d_chosen below; rewrite !ablated_right by assumption.
    pose proof (nonempty_inhabited n A some) as inhabited.
    pose proof (softmax_le n z d c inhabited below); fold pi in H.
    pose proof (softmax_le n (tempered T z) d c inhabited (same_order_tempered c d below)); fold hot in H0.
    destruct right_weights_nonneg as (? & ? & _).
    assert (0 <= kappa * missed * (pi c - pi d)) by (apply Rmult_le_pos; lra).
    assert (0 <= w * missed_T * (hot c - hot d)) by (apply Rmult_le_pos; lra).
    apply Rmult_le_pos; lra. }
  intros a_inside b_inside a_chosen b_chosen; destruct (Rle_dec (z b) (z a)) as [below|above].
  - apply ordered; assumption.
  - rewrite <- Rmult_opp_opp.
    replace (- (z a - z b)) with (z b - z a) by ring; replace (- (step a - step b)) with (step b - step a) by ring.
    apply ordered; try assumption; lra.
Qed.

(** H(q) never rises, for any size of the step. *)
Theorem conditional_entropy_falls : conditional_entropy n after_step A <= conditional_entropy n z A.
Proof.
  apply tilting_lowers_entropy; [exact some|]; intros a b a_inside b_inside a_chosen b_chosen.
  unfold after_step, moved.
  pose proof (draws_apart a b a_inside b_inside a_chosen b_chosen).
  replace ((z a - z b) * (z a + eta * step a - z a - (z b + eta * step b - z b)))
    with (eta * ((z a - z b) * (step a - step b))) by ring.
  apply Rmult_le_pos; assumption.
Qed.

(** Phi never falls. *)
Theorem gap_grows_too : gap n z A <= gap n after_step A.
Proof.
  pose proof (count_on_pos n A some) as m_pos.
  assert (total_on n A z <= total_on n A after_step) as right.
  { apply total_on_le; intros a inside chosen; unfold after_step, moved.
    pose proof (right_logit_rises a inside chosen).
    assert (0 <= eta * step a) by (apply Rmult_le_pos; assumption); lra. }
  assert (largest_on n (complement A) after_step <= largest_on n (complement A) z) as left.
  { apply largest_on_mono; [exact wrong|]; intros a inside chosen; apply complement_true in chosen.
    unfold after_step, moved; pose proof (wrong_logit_falls a inside chosen).
    assert (0 <= eta * - step a) by (apply Rmult_le_pos; lra); lra. }
  unfold gap, Rdiv.
  assert (total_on n A z * / count_on n A <= total_on n A after_step * / count_on n A); [|lra].
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, m_pos|assumption].
Qed.

(** No logit moves by more than the push. *)
Lemma moves_at_most a : (a < n)%nat -> Rabs (eta * step a) <= push.
Proof.
  intros inside; destruct masses as (? & ? & ? & ? & ? & ?); destruct right_weights_nonneg as (? & ? & ? & ?).
  pose proof (pi_pos a); pose proof (hot_pos a).
  assert (pi a <= 1 /\ hot a <= 1) as (pi_1 & hot_1) by (split; apply softmax_le_1; assumption).
  rewrite Rabs_mult, (Rabs_pos_eq eta) by assumption; unfold push.
  apply Rmult_le_compat_l; [assumption|].
  destruct (A a) eqn:chosen.
  - rewrite ablated_right, Rabs_pos_eq by (try assumption; apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra).
    assert (kappa * missed * pi a <= kappa * missed * 1) by (apply Rmult_le_compat_l; lra).
    assert (w * missed_T * hot a <= w * missed_T * 1) by (apply Rmult_le_compat_l; lra); lra.
  - assert (complement A a = true) as out by (apply complement_true; assumption).
    assert (pi a <= missed) by (apply (total_on_ge_term n (complement A) pi); try assumption;
      intros; apply Rlt_le, pi_pos).
    assert (hot a <= missed_T) by (apply (total_on_ge_term n (complement A) hot); try assumption;
      intros; apply Rlt_le, hot_pos).
    rewrite ablated_wrong, Rabs_Ropp, Rabs_pos_eq
      by (try assumption; apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra).
    assert (kappa * (p * pi a) <= kappa * (1 * missed))
      by (apply Rmult_le_compat_l; [assumption|apply Rmult_le_compat; lra]).
    assert (w * (P * hot a) <= w * (1 * missed_T))
      by (apply Rmult_le_compat_l; [assumption|apply Rmult_le_compat; lra]).
    lra.
Qed.

Lemma push_nonneg : 0 <= push.
Proof.
  destruct right_weights_nonneg as (? & ? & _); unfold push; apply Rmult_le_pos; lra.
Qed.

End Step.
