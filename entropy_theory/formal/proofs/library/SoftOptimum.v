(** The optimum of the entropy-regularized value on token trees: lambda log-sum-exp from the last token
    back is the largest regularized value, the softmax of its action values attains it, and it is
    lambda log of the sum of e^(R(y)/lambda) over responses. AEnt, Lemma 5, rests on it. *)

From Coq Require Import Reals Lra Lia Psatz List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities Trees TreeValues
  TreeGradientBounds.
Import ListNotations.
Open Scope R_scope.

(** * One state *)

(** E[q - lambda log pi] <= lambda log sum_a e^(q_a/lambda), *)
Lemma soft_bound n z q lambda :
  (0 < n)%nat -> 0 < lambda ->
  mean n (softmax n z) (fun a => q a - lambda * log_softmax n z a)
  <= lambda * ln (sum n (fun a => exp (q a / lambda))).
Proof.
  intros some positive.
  pose proof (gibbs n (softmax n z) (softmax n (fun a => q a / lambda)) (softmax_sum n z some)
                (softmax_sum n _ some)) as divergence.
  specialize (divergence ltac:(intros; apply softmax_pos, some) ltac:(intros; apply softmax_pos, some)).
  set (log_normalizer := ln (sum n (fun a => exp (q a / lambda)))).
  rewrite (mean_ext n _ (fun a => ln (softmax n (fun b => q b / lambda) a))
             (fun a => / lambda * q a - log_normalizer)) in divergence.
  - rewrite mean_minus, mean_scal, mean_const in divergence by (apply softmax_sum, some).
    rewrite mean_minus, mean_scal.
    change (mean n (softmax n z) (fun a => ln (softmax n z a)))
      with (mean n (softmax n z) (log_softmax n z)) in divergence.
    apply (Rmult_le_compat_l lambda) in divergence; [|lra].
    replace (lambda * (/ lambda * mean n (softmax n z) q - log_normalizer))
      with (mean n (softmax n z) q - lambda * log_normalizer) in divergence by (field; lra).
    lra.
  - intros a inside; change (ln (softmax n (fun b => q b / lambda) a))
      with (log_softmax n (fun b => q b / lambda) a).
    rewrite log_softmax_eq by exact some; unfold log_normalizer; field; lra.
Qed.

(** with equality at softmax(q/lambda). *)
Lemma soft_bound_attained n q lambda :
  (0 < n)%nat -> 0 < lambda ->
  mean n (softmax n (fun a => q a / lambda))
    (fun a => q a - lambda * log_softmax n (fun b => q b / lambda) a)
  = lambda * ln (sum n (fun a => exp (q a / lambda))).
Proof.
  intros some positive.
  rewrite (mean_ext n _ _ (fun _ => lambda * ln (sum n (fun a => exp (q a / lambda))))).
  - apply mean_const, softmax_sum, some.
  - intros a inside; rewrite log_softmax_eq by exact some; field; lra.
Qed.

(** * The largest regularized value *)

Lemma soft_value_bound n h lambda : forall z e,
  (0 < n)%nat -> 0 < lambda ->
  value n h z (fun s a => e s a - lambda * log_policy n z s a) <= soft_value n h lambda e.
Proof.
  induction h as [|k IH]; intros z e some positive; [simpl; lra|].
  cbn [value soft_value].
  eapply Rle_trans; [|apply (soft_bound n (z []) (fun a => e [] a + soft_value n k lambda (after a e)));
    assumption].
  apply mean_le; [intros; apply Rlt_le, softmax_pos, some|intros a _].
  specialize (IH (after a z) (after a e) some positive).
  change (after a (fun s b => e s b - lambda * log_policy n z s b))
    with (fun s b => after a e s b - lambda * log_policy n (after a z) s b).
  unfold log_policy at 1; lra.
Qed.

Lemma soft_value_attained n h lambda : forall e,
  (0 < n)%nat -> 0 < lambda ->
  value n h (soft_policy n h lambda e)
    (fun s a => e s a - lambda * log_policy n (soft_policy n h lambda e) s a)
  = soft_value n h lambda e.
Proof.
  induction h as [|k IH]; intros e some positive; [reflexivity|].
  cbn [value soft_value].
  rewrite <- (soft_bound_attained n (fun a => e [] a + soft_value n k lambda (after a e)))
    by assumption.
  apply mean_ext; intros a _; rewrite <- (IH (after a e)) by assumption.
  change (after a (soft_policy n (S k) lambda e)) with (soft_policy n k lambda (after a e)).
  change (after a (fun s b => e s b - lambda * log_policy n (soft_policy n (S k) lambda e) s b))
    with (fun s b => after a e s b - lambda * log_policy n (soft_policy n k lambda (after a e)) s b).
  unfold log_policy, soft_policy at 1; simpl.
  change (after a e) with (after a e); ring.
Qed.

(** The regularized value of every policy is at most that of the soft policy. *)
Theorem soft_value_is_largest n h z reward lambda :
  (0 < n)%nat -> (0 < h)%nat -> 0 < lambda ->
  value_with_entropy n h z reward lambda <= soft_value n h lambda (edge_reward h reward).
Proof.
  intros some long positive; rewrite <- value_regularized_edge by assumption.
  apply (soft_value_bound n h lambda z (edge_reward h reward)); assumption.
Qed.

Theorem soft_policy_attains n h reward lambda :
  (0 < n)%nat -> (0 < h)%nat -> 0 < lambda ->
  value_with_entropy n h (soft_policy n h lambda (edge_reward h reward)) reward lambda
  = soft_value n h lambda (edge_reward h reward).
Proof.
  intros some long positive; rewrite <- value_regularized_edge by assumption.
  apply (soft_value_attained n h lambda (edge_reward h reward)); assumption.
Qed.

(** * As a sum over responses *)

Lemma sum_responses_pos n h : forall f,
  (0 < n)%nat -> (forall y, response_of n h y -> 0 < f y) -> 0 < sum_responses n h f.
Proof.
  induction h as [|k IH]; intros f some positive; simpl.
  - apply positive; split; [reflexivity|constructor].
  - apply sum_pos; [assumption|]; intros a inside; apply IH; [assumption|].
    intros y response; apply positive, response_of_cons; assumption.
Qed.

Lemma soft_value_responses n lambda h : forall e,
  (0 < n)%nat -> 0 < lambda ->
  soft_value n h lambda e = lambda * ln (sum_responses n h (fun y => exp (sum_along e y / lambda))).
Proof.
  induction h as [|k IH]; intros e some positive; simpl.
  - unfold Rdiv; rewrite Rmult_0_l, exp_0, ln_1; ring.
  - f_equal; f_equal; apply sum_ext; intros a _; rewrite IH by assumption.
    set (total := sum_responses n k (fun y => exp (sum_along (after a e) y / lambda))).
    assert (0 < total) by (apply sum_responses_pos; [assumption|intros; apply exp_pos]).
    replace ((e [] a + lambda * ln total) / lambda) with (e [] a / lambda + ln total)
      by (field; lra).
    rewrite exp_plus, exp_ln by assumption; unfold total; rewrite <- sum_responses_scal.
    apply sum_responses_ext; intros y _; rewrite <- exp_plus; unfold after; simpl; f_equal.
    fold (after a e); field; lra.
Qed.

Theorem soft_value_edge_reward n h reward lambda :
  (0 < n)%nat -> (0 < h)%nat -> 0 < lambda ->
  soft_value n h lambda (edge_reward h reward)
  = lambda * ln (sum_responses n h (fun y => exp (reward y / lambda))).
Proof.
  intros some long positive; rewrite soft_value_responses by assumption; f_equal; f_equal.
  apply sum_responses_ext; intros y [length_y _]; rewrite <- length_y, sum_along_edge_reward by lia.
  reflexivity.
Qed.

(** V*_lambda >= V* + lambda log m, for m responses with the return V*. *)
Theorem soft_value_above n h reward lambda (right : state -> bool) best :
  (0 < n)%nat -> (0 < h)%nat -> 0 < lambda ->
  (forall y, response_of n h y -> right y = true -> reward y = best) ->
  0 < sum_responses n h (fun y => if right y then 1 else 0) ->
  best + lambda * ln (sum_responses n h (fun y => if right y then 1 else 0))
  <= soft_value n h lambda (edge_reward h reward).
Proof.
  intros some long positive same many; rewrite soft_value_edge_reward by assumption.
  set (m := sum_responses n h (fun y => if right y then 1 else 0)) in *.
  replace (best + lambda * ln m) with (lambda * ln (exp (best / lambda) * m)).
  - apply Rmult_le_compat_l; [lra|apply ln_le_increasing].
    + apply Rmult_lt_0_compat; [apply exp_pos|assumption].
    + unfold m; rewrite <- sum_responses_scal; apply sum_responses_le; intros y response.
      destruct (right y) eqn:here; [rewrite (same y response here); lra|].
      rewrite Rmult_0_r; apply Rlt_le, exp_pos.
  - rewrite ln_mult, ln_exp by (apply exp_pos || assumption); field; lra.
Qed.

(** * The largest entropy *)

Lemma entropy_le_log n z : (0 < n)%nat -> entropy n z <= ln (INR n).
Proof.
  intros some; assert (0 < INR n) as positive by (apply lt_0_INR, some).
  assert (0 < / INR n) as share by (apply Rinv_0_lt_compat, positive).
  pose proof (gibbs n (softmax n z) (fun _ => / INR n) (softmax_sum n z some)) as divergence.
  rewrite sum_const in divergence; specialize (divergence ltac:(field; lra)).
  specialize (divergence ltac:(intros; apply softmax_pos, some) ltac:(intros; assumption)).
  rewrite mean_const, ln_Rinv in divergence by (apply softmax_sum, some || exact positive).
  unfold entropy; fold (mean n (softmax n z) (fun a => ln (softmax n z a))); lra.
Qed.

Lemma visits_sum n h z : (0 < n)%nat -> sum_states n h (probability n z) = INR h.
Proof.
  intros some; unfold sum_states; rewrite (sum_ext h _ (fun _ => 1)), sum_const; [ring|].
  intros t _; apply probability_sum, some.
Qed.

Lemma response_entropy_le n h z : (0 < n)%nat -> response_entropy n h z <= INR h * ln (INR n).
Proof.
  intros some; rewrite response_entropy_states by exact some.
  rewrite <- (visits_sum n h z some), Rmult_comm, <- sum_states_scal.
  apply sum_states_le; intros s _; rewrite Rmult_comm.
  apply Rmult_le_compat_r; [apply Rlt_le, probability_pos, some|apply entropy_le_log, some].
Qed.

(** * The bias of the regularized optimum (AEnt, Lemma 5) *)

Theorem soft_bias n h z reward lambda (right : state -> bool) best :
  (0 < n)%nat -> (0 < h)%nat -> 0 < lambda ->
  (exists y, response_of n h y /\ right y = true) ->
  (forall y, response_of n h y -> right y = true -> reward y = best) ->
  best - mean_responses n h z reward
  <= soft_value n h lambda (edge_reward h reward) - value_with_entropy n h z reward lambda
     + lambda * (INR h * ln (INR n) - ln (sum_responses n h (fun y => if right y then 1 else 0))).
Proof.
  intros some long positive [y [inside here]] same.
  set (m := sum_responses n h (fun y => if right y then 1 else 0)).
  assert (0 < m) as many.
  { apply Rlt_le_trans with (if right y then 1 else 0); [rewrite here; lra|].
    apply (sum_responses_ge_term n h (fun u => if right u then 1 else 0) y); [|exact inside].
    intros u _; cbv beta; destruct (right u); lra. }
  pose proof (soft_value_above n h reward lambda right best some long positive same many) as above.
  fold m in above; pose proof (response_entropy_le n h z some); unfold value_with_entropy.
  assert (lambda * response_entropy n h z <= lambda * (INR h * ln (INR n)))
    by (apply Rmult_le_compat_l; lra).
  lra.
Qed.
