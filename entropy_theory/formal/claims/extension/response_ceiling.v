(** Extension of AEPO to responses of several tokens: exact expected tempered REINFORCE on a token tree,
    with the policy gradient beside it at any nonnegative weight and at temperatures that stay above some
    positive one, makes right responses certain; and no entropy above the logarithm of their number can
    be held, whatever the temperatures. *)

From Coq Require Import Reals Lra Lia List.
From PolicyEntropy.library Require Import Definitions Basics Trees ViableTokens ViableRuns.
Open Scope R_scope.

Theorem proved :
  forall (n h : nat) (right : state -> bool) (z : nat -> policy)
    (temperature grpo_weight : nat -> R) (lowest learning_rate : R),
  (1 <= n)%nat -> 0 < lowest -> 0 < learning_rate ->
  (forall k, lowest <= temperature k) -> (forall k, 0 <= grpo_weight k) ->
  0 < number_right n h right ->
  (forall k s a, state_of n h s -> (a < n)%nat ->
    z (S k) s a = z k s a + learning_rate
      * (tempered_reinforce n h (temperature k) (z k) right s a
         + grpo_weight k * tempered_reinforce n h 1 (z k) right s a)) ->
  tends_to (fun k => success n h (z k) right) 1
  /\ limsup_at_most (fun k => response_entropy n h (z k)) (ln (number_right n h right)).
Proof.
  intros n h right z temperature grpo_weight lowest learning_rate some lowest_positive rate_positive
    above weights possible run.
  assert (tends_to (fun k => learning_rate * (1 - success n h (z k) right)) 0) as vanishes.
  { apply (failure_vanishes n temperature lowest some lowest_positive above h right
             (fun _ => learning_rate) (fun k => learning_rate * grpo_weight k) z learning_rate).
    - intros k s a short tokens inside; rewrite run by (try split; assumption); ring.
    - intros; lra.
    - intros; apply Rmult_le_pos; [lra|apply weights].
    - exact possible. }
  assert (tends_to (fun k => success n h (z k) right) 1) as learns.
  { intros e positive.
    destruct (vanishes (learning_rate * e)) as (N & late); [apply Rmult_lt_0_compat; assumption|].
    exists N; intros k later; specialize (late k later).
    rewrite Rminus_0_r, Rabs_mult, (Rabs_pos_eq learning_rate), Rabs_minus_sym in late by lra.
    apply Rmult_lt_reg_l with learning_rate; assumption. }
  split; [exact learns|].
  intros e positive.
  set (slope := ln (sum_responses n h (fun _ => 1)) - ln (e / 2) - ln (number_right n h right)).
  destruct (learns (e / (2 * (Rabs slope + 1)))) as (N & late).
  { apply Rdiv_lt_0_compat; [assumption|]; pose proof (Rabs_pos slope); lra. }
  exists N; intros k later; specialize (late k later).
  eapply Rle_lt_trans; [apply (response_entropy_bound n h (z k) right (e / 2)); [exact some|exact possible|lra]|].
  fold slope; pose proof (Rabs_pos slope) as slope_nonneg.
  pose proof (success_range n h (z k) right some) as range.
  rewrite Rabs_minus_sym, Rabs_pos_eq in late by lra.
  assert ((1 - success n h (z k) right) * slope < e / 2); [|lra].
  apply Rle_lt_trans with ((1 - success n h (z k) right) * (Rabs slope + 1)).
  - apply Rmult_le_compat_l; [lra|]; pose proof (Rle_abs slope); lra.
  - apply Rmult_lt_reg_r with (/ (Rabs slope + 1)); [apply Rinv_0_lt_compat; lra|].
    rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra.
    eapply Rlt_le_trans; [exact late|]; apply Req_le; field; lra.
Qed.
