(** AEPO, Eq. 5: the expected logit step of tempered REINFORCE. The score, d log pi_a / d z_k = delta_ak - pi_k, is
    that of pi; the samples are from pi^T. *)

From Coq Require Import Reals Lra Lia Arith Bool.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Totals Directions.
Open Scope R_scope.

(** What is differentiated: the expected log-probability of the correct tempered samples, in the direction of the
    logit k. Its derivative is the step, per unit learning rate. *)
Theorem expected_score :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (k : nat),
  (1 <= n)%nat -> 0 < temperature -> (k < n)%nat ->
  derivative
    (fun t => total_on n correct (fun a =>
       softmax n (tempered temperature logits) a
       * log_softmax n (fun b => logits b + t * unit_vector k b) a))
    0 (unit_step n logits correct temperature k).
Proof.
  intros n logits correct temperature k some positive inside.
  apply is_derive_Reals.
  apply is_derive_ext with
    (f := fun t => sum n (fun a => only correct (softmax n (tempered temperature logits)) a
                                   * log_softmax n (fun b => logits b + t * unit_vector k b) a)).
  { intros t; apply sum_ext; intros a _; unfold only; destruct (correct a); ring. }
  evar_last.
  - apply (is_derive_sum n
             (fun t a => only correct (softmax n (tempered temperature logits)) a
                         * log_softmax n (fun b => logits b + t * unit_vector k b) a)
             (fun a => only correct (softmax n (tempered temperature logits)) a
                       * (unit_vector k a - softmax n logits k))).
    intros a a_inside; apply is_derive_scal; apply is_derive_log_softmax_coordinate; [lia|assumption|assumption].
  - rewrite (sum_ext n _ (fun a => only correct (softmax n (tempered temperature logits)) a * unit_vector k a
                                   - only correct (softmax n (tempered temperature logits)) a * softmax n logits k))
      by (intros; ring).
    rewrite sum_minus, sum_scal_r, sum_unit_vector by assumption; reflexivity.
Qed.

Theorem proved :
  forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
  (1 <= n)%nat -> 0 < temperature -> 0 < learning_rate ->
  forall k, (k < n)%nat ->
  learning_rate
  * sum n (fun a => only correct (softmax n (tempered temperature logits)) a
                    * (unit_vector a k - softmax n logits k))
  - learning_rate * unit_step n logits correct temperature k = 0.
Proof.
  intros n logits correct temperature learning_rate some positive rate_positive k inside.
  rewrite (sum_ext n _ (fun a => only correct (softmax n (tempered temperature logits)) a * unit_vector k a
                                 - only correct (softmax n (tempered temperature logits)) a * softmax n logits k))
    by (intros; rewrite unit_vector_sym; ring).
  rewrite sum_minus, sum_scal_r, sum_unit_vector by assumption.
  unfold unit_step, total_on; ring.
Qed.
