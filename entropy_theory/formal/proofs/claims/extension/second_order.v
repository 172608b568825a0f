(** Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6: the entropy change through second order, with
    |R| <= (2 + 7 log n) rho^3/24, rho = max d - min d. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics TemperedReinforce Masks Curvature Spread EntropyChange SecondOrder.
From Trusted.Statements.extension Require second_order.
Open Scope R_scope.

(** The quadratic form, written as one expectation. *)
Theorem as_one_expectation :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  quadratic_form n logits step
  = - mean n (softmax n logits) (fun a =>
        (1 + log_softmax n logits a + entropy n logits)
        * (centered n (softmax n logits) step a * centered n (softmax n logits) step a)).
Proof. intros; apply quadratic_form_mean; lia. Qed.

(** The two terms are the first two derivatives of entropy along the step. *)
Lemma slope_with_logits n z d :
  (0 < n)%nat ->
  - covariance n (softmax n z) (log_softmax n z) d = - covariance n (softmax n z) z d.
Proof. intros some; rewrite covariance_log_softmax by (try apply softmax_sum; assumption); reflexivity. Qed.

Theorem derivatives :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  derivative (fun t => entropy n (fun a => logits a + t * step a)) 0
    (- covariance n (softmax n logits) logits step)
  /\
  derivative (fun t => - covariance n (softmax n (fun a => logits a + t * step a))
                           (fun a => logits a + t * step a) step) 0
    (quadratic_form n logits step).
Proof.
  intros n logits step some; split; apply is_derive_Reals.
  - rewrite <- slope_with_logits, <- (slope_line_start n logits step) by lia.
    apply (is_derive_entropy_along_line n logits step); lia.
  - apply is_derive_ext with
      (f := fun t => - covariance n (softmax n (line logits step t)) (log_softmax n (line logits step t)) step).
    + intros t; apply (slope_with_logits n (line logits step t) step); lia.
    + rewrite <- (quadratic_form_line_start n logits step); apply is_derive_slope_line; lia.
Qed.

Theorem proved : Statements.extension.second_order.statement.
Proof.
  intros n logits step many; split; [|apply derivatives; lia].
  pose proof (second_order_error n logits step ltac:(lia) _ _ (between_smallest_and_largest n step)) as error.
  rewrite covariance_log_softmax in error by (try apply softmax_sum; lia).
  set (width := largest n step - smallest n step) in *.
  replace (width * width * width * (2 + 7 * ln (INR n)) / 24)
    with ((2 + 7 * ln (INR n)) * width ^ 3 / 24) by field.
  refine (Rle_trans _ _ _ (Req_le _ _ _) error); f_equal; unfold quadratic_form; field.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.second_order.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.

Theorem defined : Statements.extension.second_order.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require second_order.
From Trusted.Conditions.extension Require second_order.

Theorem as_one_expectation_witness : Conditions.extension.second_order.as_one_expectation_witness.
Proof. exists 1%nat; met. Qed.
