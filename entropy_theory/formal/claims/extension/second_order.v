(** Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6: the entropy change through second order, with
    |R| <= (2 + 7 log n) rho^3/24, rho = max d - min d. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import
  Definitions Basics TemperedReinforce Largest Curvature Spread EntropyChange SecondOrder.
Open Scope R_scope.

Definition spread (n : nat) (step : vector) : R := largest n step - smallest n step.

(** The quadratic form is the second derivative of entropy along the step, in the two forms of the claim. *)
Theorem curvature :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  derivative (fun t => - covariance n (softmax n (line logits step t)) (log_softmax n (line logits step t)) step)
    0 (quadratic_form n logits step)
  /\ quadratic_form n logits step
     = - mean n (softmax n logits) (fun a =>
           (1 + log_softmax n logits a + entropy n logits)
           * (centered n (softmax n logits) step a * centered n (softmax n logits) step a)).
Proof.
  intros n logits step some; split.
  - apply is_derive_Reals; rewrite <- (quadratic_form_line_start n logits step).
    apply is_derive_slope_line; lia.
  - apply quadratic_form_mean; lia.
Qed.

Theorem proved :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  0 <= spread n step * spread n step * spread n step * (2 + 7 * ln (INR n)) / 24
       - Rabs (entropy_change n logits step - - covariance n (softmax n logits) logits step
               - 1 * quadratic_form n logits step / 2).
Proof.
  intros n logits step some.
  pose proof (second_order_error n logits step ltac:(lia) _ _ (between_smallest_and_largest n step)) as error.
  rewrite covariance_log_softmax in error by (try apply softmax_sum; lia).
  replace (entropy_change n logits step - - covariance n (softmax n logits) logits step
           - 1 * quadratic_form n logits step / 2)
    with (entropy_change n logits step + covariance n (softmax n logits) logits step
          - quadratic_form n logits step / 2) by field.
  fold (spread n step) in error.
  replace (spread n step * spread n step * spread n step * (2 + 7 * ln (INR n)) / 24)
    with ((2 + 7 * ln (INR n)) * spread n step ^ 3 / 24) by field.
  lra.
Qed.
