(** Extension of AEPO to responses of several tokens: exact expected tempered REINFORCE on a token tree,
    with the policy gradient beside it at any nonnegative weight and at temperatures that stay above some
    positive one, makes right responses certain; and no entropy above the logarithm of their number can
    be held, whatever the temperatures. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees ViableTokens ViableRuns.
From Trusted.Statements.extension Require response_ceiling.
Open Scope R_scope.

Theorem runs_end_at_the_ceiling :
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

(** * The statement as generated *)

Lemma some_right n h : forall right y,
  response_of n h y -> right y = true -> 0 < number_right n h right.
Proof.
  induction h as [|k IH]; intros right y [long tokens] is_right.
  - destruct y; [|discriminate]; unfold number_right; simpl; rewrite is_right; simpl; lra.
  - destruct y as [|a rest]; [discriminate|].
    inversion tokens as [|? ? inside rest_tokens]; subst.
    assert (0 < number_right n k (after a right)) as positive
      by (apply (IH (after a right) rest); [split; [simpl in long; lia|exact rest_tokens]|exact is_right]).
    unfold number_right; simpl.
    eapply Rlt_le_trans; [exact positive|].
    apply (sum_ge_term n (fun b => sum_responses n k (after b (fun y => indicator (right y)))));
      [|exact inside].
    intros b _; apply sum_responses_nonneg; intros; apply indicator_range.
Qed.

Lemma tempered_policy_1 z : tempered_policy 1 z = z.
Proof.
  apply functional_extensionality; intros s; apply functional_extensionality; intros a.
  unfold tempered_policy, tempered; field.
Qed.

Lemma probability_at_most_one n s : forall z,
  (0 < n)%nat -> List.Forall (fun a => (a < n)%nat) s -> probability n z s <= 1.
Proof.
  induction s as [|a rest IH]; intros z some tokens; simpl; [lra|].
  inversion tokens as [|? ? inside rest_tokens]; subst.
  rewrite <- (Rmult_1_r 1); apply Rmult_le_compat.
  - apply Rlt_le, softmax_pos, some.
  - apply Rlt_le, probability_pos, some.
  - apply softmax_le_1, inside.
  - apply IH; assumption.
Qed.

(** No right response passes a token that is not viable. *)
Lemma rewarded_nonviable n h z right s a :
  (0 < n)%nat -> state_of n h s -> (a < n)%nat -> less 0 (total_through n h (fun y => indicator (right y)) s a) = false ->
  rewarded n h z right s a = 0.
Proof.
  intros some [_ tokens] inside none; unfold less in none; destruct (Rlt_dec _ _) as [|not_positive]; [discriminate|].
  unfold rewarded, total_through in *.
  apply Rle_antisym.
  - eapply Rle_trans; [|apply Rnot_lt_le, not_positive].
    apply sum_responses_le; intros y [_ y_tokens].
    pose proof (probability_pos n z (s ++ a :: y) some); pose proof (indicator_range (right (s ++ a :: y))).
    assert (probability n z (s ++ a :: y) <= 1).
    { apply probability_at_most_one; [exact some|]; apply Forall_app; split; [exact tokens|].
      constructor; assumption. }
    rewrite <- (Rmult_1_l (indicator _)) at 2; apply Rmult_le_compat_r; lra.
  - apply sum_responses_nonneg; intros y _.
    pose proof (probability_pos n z (s ++ a :: y) some); pose proof (indicator_range (right (s ++ a :: y))).
    apply Rmult_le_pos; lra.
Qed.

Theorem proved : Statements.extension.response_ceiling.statement.
Proof.
  unfold Statements.extension.response_ceiling.statement.
  intros n h z right T learning_rate lowest at_least_two _ (y & response & is_right) T_positive
    rate_positive lowest_positive.
  assert (0 < n)%nat as some by lia.
  set (hot := tempered_policy T z).
  change (Statements.extension.response_ceiling.rewarded n h (fun u b => z u b / T) right)
    with (rewarded n h hot right).
  set (going := Statements.extension.response_ceiling.viable n h z right).
  assert (forall s a, state_of n h s -> (a < n)%nat -> going s a = false ->
    rewarded n h hot right s a = 0) as nothing
    by (intros; apply rewarded_nonviable; assumption).
  assert (forall s a, 0 <= rewarded n h hot right s a) as nonneg.
  { intros s a; apply sum_responses_nonneg; intros x _.
    pose proof (probability_pos n hot (s ++ a :: x) some); pose proof (indicator_range (right (s ++ a :: x))).
    apply Rmult_le_pos; lra. }
  assert (forall s, 0 <= sum n (rewarded n h hot right s)) as sum_nonneg
    by (intros; apply sum_nonneg; intros; apply nonneg).
  assert (forall s a, Statements.extension.response_ceiling.tempered_step n h z right T s a
    = rewarded n h hot right s a - sum n (rewarded n h hot right s) * softmax n (z s) a) as step_is
    by reflexivity.
  split; [split|split].
  - intros s _; apply Rmult_le_pos; [apply sum_nonneg|].
    apply Basics.sum_nonneg; intros a _; unfold only; destruct (negb (going s a)); [|lra].
    apply Rlt_le, softmax_pos, some.
  - intros s inside a a_inside; fold (going s a); destruct (going s a) eqn:kind; [lra|].
    rewrite step_is, nothing by assumption.
    pose proof (softmax_pos n (z s) a some); pose proof (sum_nonneg s).
    assert (0 <= sum n (rewarded n h hot right s) * softmax n (z s) a) by (apply Rmult_le_pos; lra).
    lra.
  - intros s inside.
    set (W := sum n (rewarded n h hot right s)).
    rewrite (sum_ext n _ (fun a => rewarded n h hot right s a
        - W * (softmax n (z s) a - only (fun b => negb (going s b)) (softmax n (z s)) a))).
    + rewrite sum_minus, sum_scal, sum_minus, softmax_sum by exact some.
      fold W; unfold total_on; ring.
    + intros a a_inside; rewrite step_is; fold W (going s a); unfold only.
      destruct (going s a) eqn:kind; simpl; [ring|rewrite nothing by assumption; ring].
  - intros temperatures above weights weights_nonneg path follows.
    apply (runs_end_at_the_ceiling n h right path temperatures weights lowest learning_rate);
      try assumption.
    + apply (some_right n h right y response is_right).
    + intros k s a inside a_inside; rewrite (follows k s inside a a_inside).
      unfold Statements.extension.response_ceiling.policy_gradient.
      unfold tempered_reinforce at 2; rewrite tempered_policy_1; reflexivity.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains TreeDomains.

Theorem witness : Statements.extension.response_ceiling.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => Nat.eqb (List.hd 0%nat y) 1), 2, 1, (1 / 2);
    witnessed.
Qed.

Theorem witness_1 : Statements.extension.response_ceiling.witness_1.
Proof.
  exists 2%nat, 1%nat, (fun _ _ => 0), (fun y => Nat.eqb (List.hd 0%nat y) 1), 1, 1, 1; do 6 (split; [witnessed|]).
  exists (fun _ => 1); split; [intros; lra|]; exists (fun _ => 0); split; [intros; lra|].
  exists (run (fun _ z s a => z s a
    + 1 * (Statements.extension.response_ceiling.tempered_step 2 1 z (fun y => Nat.eqb (List.hd 0%nat y) 1) 1 s a
           + 0 * Statements.extension.response_ceiling.policy_gradient 2 1 z
                   (fun y => Nat.eqb (List.hd 0%nat y) 1) s a)) (fun _ _ => 0)).
  reflexivity.
Qed.

Theorem defined : Statements.extension.response_ceiling.defined.
Proof. domains. Qed.
