(** Extension of the Entropy Mechanism, Lemma 1: the first order of the entropy of responses has a remainder
    that grows with the square of their length.

    |H(z + d) - H(z) - sum_s d(s) {-Cov_s(log pi, d) + Cov_s(H(sa), d)}|
    <= (h/4)(1 + log h + h log n) max_s ||d_s||^2 for every step d; for one token it is the bound at one
    state. With responses as actions, H'' = -E[S^2] - E[log pi(y) (S^2 - Q)], S the score of y and Q the
    sum of the states' variances of d along y (TreeExpansion.v). *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import CurvatureBounds TreeLargest TreeExpansion.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.extension Require response_entropy_expansion.
Module Stated := Statements.extension.response_entropy_expansion.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.extension.response_entropy_expansion.statement.
Proof.
  unfold Stated.statement, Stated.response_remainder_bound.
  intros n h logits step size several long positive; assert (0 < n)%nat as some by lia.
  assert (forall d, Stated.response_rate n h logits d = sum_states n h (fun s => probability n logits s *
    (- covariance n (softmax n (logits s)) (log_softmax n (logits s)) (d s)
     + covariance n (softmax n (logits s)) (entropy_to_come n h logits s) (d s)))) as rate.
  { intros d; unfold Stated.response_rate, Stated.action_covariance; apply sum_states_ext; intros s _.
    f_equal; rewrite covariance_minus_l by (apply softmax_sum, some).
    rewrite (covariance_ext n _ (Stated.entropy_to_go n h logits s) (d s)
      (entropy_to_come n h logits s) (d s)); [ring| |reflexivity].
    intros a _; unfold Stated.entropy_to_go, action_value, entropy_to_come, log_policy; ring. }
  rewrite !rate; split.
  - apply (response_first_order_error n h logits (fun s a => size * step s a)); try assumption.
    intros s inside.
    apply (largest_states_ge n h (fun s => sum n (fun a => size * step s a * (size * step s a))) s inside).
  - rewrite <- response_slope_states by assumption.
    apply is_derive_Reals, is_derive_response_slope, some.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.response_entropy_expansion.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0
    end)), 1; witnessed.
Qed.

Theorem defined : Statements.extension.response_entropy_expansion.defined.
Proof. domains. Qed.
