(** The update of AEPO's Eq. 1, expected GRPO of weight kappa and tempered REINFORCE of weight alpha: its
    entropy rate is kappa F(1) + alpha F(T), which is positive, where F(1) < 0, exactly if F(T) > 0 and
    alpha > kappa |F(1)|/F(T). *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Curvature EntropyChange FirstOrder
  Learning.
Open Scope R_scope.

Section Combined.

Variables (n : nat) (z : vector) (A : mask) (T kappa alpha : R).
Hypothesis some : (0 < n)%nat.

Let step := combined_step n z A T kappa alpha.
Let total := kappa * untempered_rate n z A + alpha * rate n z A T.

(** The rates add. *)
Lemma covariance_of_combined_step : covariance n (softmax n z) (log_softmax n z) step = - total.
Proof.
  rewrite covariance_log_own by assumption; unfold step, combined_step.
  rewrite (sum_ext n _ (fun a => kappa * (own_covariance n z a * unit_step n z A 1 a)
                                 + alpha * (own_covariance n z a * unit_step n z A T a)))
    by (intros; ring).
  rewrite sum_plus, !sum_scal, <- !covariance_log_own, !rate_of_step, rate_1 by assumption.
  unfold total; ring.
Qed.

Lemma first_order_of_combined_step : - covariance n (softmax n z) z step = total.
Proof.
  rewrite <- (covariance_log_softmax n z) by (assumption || apply softmax_sum, some).
  rewrite covariance_of_combined_step; ring.
Qed.

(** It is the derivative of entropy in the learning rate. *)
Lemma is_derive_entropy_combined :
  is_derive (fun eta => entropy n (fun a => z a + eta * step a)) 0 total.
Proof.
  replace total with (- covariance n (softmax n z) (log_softmax n z) step)
    by (rewrite covariance_of_combined_step; ring).
  rewrite <- slope_line_start.
  apply (is_derive_entropy_along_line n z step); assumption.
Qed.

Lemma balance :
  untempered_rate n z A < 0 -> 0 < kappa -> 0 <= alpha ->
  (0 < total <-> 0 < rate n z A T /\ kappa * Rabs (untempered_rate n z A) / rate n z A T < alpha).
Proof.
  intros falls kappa_pos alpha_nonneg; rewrite Rabs_left by assumption; unfold total.
  set (F1 := untempered_rate n z A) in *; set (FT := rate n z A T).
  assert (0 < kappa * - F1) as cost by (apply Rmult_lt_0_compat; lra).
  split.
  - intros rises.
    assert (0 < FT) as FT_pos.
    { apply Rnot_le_lt; intros nonpos; assert (0 <= alpha * - FT) by (apply Rmult_le_pos; lra); lra. }
    split; [assumption|].
    apply Rmult_lt_reg_r with FT; [assumption|].
    replace (kappa * - F1 / FT * FT) with (kappa * - F1) by (field; lra); lra.
  - intros (FT_pos & enough).
    apply Rmult_lt_compat_r with (r := FT) in enough; [|assumption].
    replace (kappa * - F1 / FT * FT) with (kappa * - F1) in enough by (field; lra); lra.
Qed.

(** The exact change is positive for small enough learning rates. *)
Lemma small_steps_rise eta :
  remainder_bound n (fun a => eta * step a) < eta * total ->
  0 < entropy_change n z (fun a => eta * step a).
Proof.
  intros small.
  pose proof (first_order_error_scaled n z some eta step total covariance_of_combined_step) as close.
  pose proof (Rle_abs (- (entropy_change n z (fun a => eta * step a) - eta * total))) as below.
  rewrite Rabs_Ropp in below; lra.
Qed.

Lemma small_enough eta :
  0 < eta -> eta * ((1 + ln (INR n)) * sum n (fun a => step a * step a)) < 4 * total ->
  remainder_bound n (fun a => eta * step a) < eta * total.
Proof.
  intros eta_pos small; unfold remainder_bound.
  rewrite (sum_ext n (fun a => eta * step a * (eta * step a)) (fun a => eta * eta * (step a * step a)))
    by (intros; ring).
  rewrite sum_scal.
  apply Rmult_lt_compat_l with (r := eta) in small; [|assumption]; lra.
Qed.

End Combined.
