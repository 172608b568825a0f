(** Extension of the Entropy Mechanism, Lemma 1: the first order of the entropy of responses has a remainder
    that grows with the square of their length.

    |H(z + d) - H(z) - sum_s d(s) {-Cov_s(log pi, d) + Cov_s(H(sa), d)}|
    <= (h/4)(1 + log h + h log n) max_s ||d_s||^2 for every step d; for one token it is the bound at one
    state. With responses as actions, H'' = -E[S^2] - E[log pi(y) (S^2 - Q)], S the score of y and Q the
    sum of the states' variances of d along y. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import CurvatureBounds TreeLargest TreeExpansion.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
  forall (n h : nat) (z : policy) (d : state -> vector),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let rate := sum_states n h (fun s => probability n z s *
    (- covariance n (softmax n (z s)) (log_softmax n (z s)) (d s)
     + covariance n (softmax n (z s)) (entropy_to_go n h z s) (d s))) in
  derivative (fun t => response_entropy n h (moved z t d)) 0 rate /\
  Rabs (response_entropy n h (fun s a => z s a + d s a) - response_entropy n h z - rate)
  <= INR h * (1 + ln (INR h) + INR h * ln (INR n))
     * largest_states n h (fun s => sum n (fun a => d s a * d s a)) / 4.
Proof.
  intros n h z d several long rate; assert (0 < n)%nat as some by lia; split.
  - unfold rate; rewrite <- response_slope_states by assumption.
    apply is_derive_Reals, is_derive_response_slope, some.
  - apply response_first_order_error; try assumption.
    apply (largest_states_ge n h (fun s => sum n (fun a => d s a * d s a))).
Qed.
