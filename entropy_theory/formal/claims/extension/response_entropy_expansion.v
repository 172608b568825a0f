(** Extension of the Entropy Mechanism, Lemma 1: the entropy of responses to first order, with an explicit
    remainder.

    |H(z + d) - H(z) - sum_s d(s) {-Cov_s(log pi, d) + Cov_s(H(sa), d)}|
    <= (1/4)(h + c_h log n) max_s ||d_s||^2 with c_h = h (h^2 + 12 h - 7)/6, for every step d. It follows
    from the remainder that grows with h^2 log n only (response_entropy_expansion_sharp). *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import CurvatureBounds TreeLargest TreeExpansion.
From PolicyEntropy.library Require Import TreeDirections.
From Statements.extension Require response_entropy_expansion.
Module Stated := Statements.extension.response_entropy_expansion.
Import ListNotations.
Open Scope R_scope.

Theorem response_entropy_expansion_cubic :
  forall (n h : nat) (z : policy) (size : R) (step : state -> vector),
  (2 <= n)%nat -> (1 <= h)%nat -> 0 < size ->
  let d s a := size * step s a in
  let rate := sum_states n h (fun s => probability n z s *
    (- covariance n (softmax n (z s)) (log_softmax n (z s)) (d s)
     + covariance n (softmax n (z s)) (entropy_to_go n h z s) (d s))) in
  let cubic := INR h * (INR h ^ 2 + 12 * INR h - 7) / 6 in
  Rabs (response_entropy n h (fun s a => z s a + d s a) - response_entropy n h z - rate)
  <= (INR h + cubic * ln (INR n)) * largest_states n h (fun s => sum n (fun a => d s a * d s a)) / 4.
Proof.
  intros n h z size step several long positive d rate cubic.
  set (norm := fun s => sum n (fun a => d s a * d s a)).
  assert (0 <= largest_states n h norm) as D_nonneg.
  { destruct h as [|k]; [lia|]; apply Rle_trans with (2 := largest_states_ge n _ norm [] (state_of_nil n k)).
    apply sum_nonneg; intros; apply Rle_0_sqr. }
  apply Rle_trans with
    (1 := response_first_order_error n h z d _ several long (largest_states_ge n h norm)).
  apply Rmult_le_compat_r; [lra|]; apply Rmult_le_compat_r; [exact D_nonneg|].
  pose proof (ln_INR_above n several); pose proof ln_2_above_two_thirds.
  assert (ln (INR h) <= INR h - 1) as log_h by (apply ln_below, lt_0_INR; lia).
  unfold cubic; destruct (Nat.eq_dec h 1) as [->|longer]; [simpl INR; rewrite ln_1; lra|].
  assert (2 <= INR h) as h_large by (apply (le_INR 2); lia).
  assert (0 <= INR h * (INR h - 1 - ln (INR h))) by (apply Rmult_le_pos; lra).
  assert (1 <= (INR h + 7) / 6 * ln (INR n)) as enough.
  { apply Rle_trans with ((INR h + 7) / 6 * (2 / 3)); [lra|apply Rmult_le_compat_l; lra]. }
  assert (0 <= INR h * (INR h - 1) * ((INR h + 7) / 6 * ln (INR n) - 1))
    by (repeat apply Rmult_le_pos; lra).
  lra.
Qed.

Theorem proved : Statements.extension.response_entropy_expansion.statement.
Proof.
  unfold Stated.statement, Stated.response_remainder_bound.
  intros n h logits step size several long positive; assert (0 < n)%nat as some by lia.
  assert (forall d, Stated.response_rate n h logits d = sum_states n h (fun s => probability n logits s *
    (- covariance n (softmax n (logits s)) (log_softmax n (logits s)) (d s)
     + covariance n (softmax n (logits s)) (entropy_to_go n h logits s) (d s)))) as rate.
  { intros d; unfold Stated.response_rate, Stated.action_covariance; apply sum_states_ext; intros s _.
    f_equal; rewrite covariance_minus_l by (apply softmax_sum, some).
    rewrite (covariance_ext n _ (Stated.entropy_to_go n h logits s) (d s)
      (entropy_to_go n h logits s) (d s)); [ring| |reflexivity].
    intros a _; unfold Stated.entropy_to_go, action_value, entropy_to_go, log_policy; ring. }
  rewrite !rate; split.
  - apply (response_first_order_error n h logits (fun s a => size * step s a)); try assumption.
    intros s inside.
    apply (largest_states_ge n h (fun s => sum n (fun a => size * step s a * (size * step s a))) s inside).
  - rewrite <- response_slope_states by assumption.
    apply is_derive_Reals, is_derive_response_slope, some.
Qed.
