(** Entropy Mechanism, Theorem 1, repaired: under the exact policy gradient the entropy at state s moves by
    -eta d(s) Cov_s(log pi, pi A), up to (1/4)(1 + log n) times the square of the step at s.

    d(s) is the probability of visiting s, and 1 for responses of one token, where the printed theorem
    holds. The step is eta times REINFORCE written out over responses, the gradient of E R.

    As printed, without d(s), the rate is wrong wherever d(s) < 1 and the covariance is not zero: no
    constant makes the error a multiple of eta^2 ([printed_is_false] has one such state). *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import Curvature EntropyChange.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.entropy_mechanism Require theorem_1.
Module Stated := Statements.entropy_mechanism.theorem_1.
Import ListNotations.
Open Scope R_scope.

Theorem printed_is_false :
  ~ exists constant, forall (z : policy) (reward : state -> R) (learning_rate : R) (s : state),
    0 < learning_rate -> state_of 2 2 s ->
    let step a := learning_rate * gradient_over_responses 2 2 z reward s a in
    let rate := - covariance 2 (softmax 2 (z s)) (log_softmax 2 (z s))
      (fun a => softmax 2 (z s) a * advantage_at 2 2 z (edge_reward 2 reward) s a) in
    Rabs (entropy 2 (fun a => z s a + step a) - entropy 2 (z s) - learning_rate * rate)
      <= constant * sum 2 (fun a => step a * step a).
Proof.
  intros [constant printed].
  set (z := fun (s : state) (a : nat) => match s, a with [O], 1%nat => ln 2 | _, _ => 0 end).
  set (reward := fun y : state => match y with [O; 1%nat] => 1 | _ => 0 end).
  assert (state_of 2 2 [0%nat]) as inside by (split; simpl; [lia|repeat constructor]).
  set (gradient := gradient_over_responses 2 2 z reward [0%nat]).
  set (A := fun a => softmax 2 (z [0%nat]) a * advantage_at 2 2 z (edge_reward 2 reward) [0%nat] a).
  assert (forall a, gradient a = / 2 * A a) as half.
  { intros a; unfold gradient, A; rewrite response_gradient_advantage by (simpl; lia); f_equal.
    unfold probability, softmax, z; simpl; rewrite exp_0; field. }
  assert (softmax 2 (z [0%nat]) 0%nat = / 3) as third
    by (unfold softmax, z; simpl; rewrite exp_0, exp_ln by lra; field).
  assert (softmax 2 (z [0%nat]) 1%nat = 2 / 3) as two_thirds
    by (unfold softmax, z; simpl; rewrite exp_0, exp_ln by lra; field).
  assert (A 0%nat = - (2 / 9) /\ A 1%nat = 2 / 9) as [A_0 A_1].
  { unfold A, advantage_at, action_value, edge_reward, value_at, value, mean, after, reward; simpl.
    rewrite third, two_thirds; split; field. }
  set (cov := covariance 2 (softmax 2 (z [0%nat])) (log_softmax 2 (z [0%nat])) A).
  assert (cov = 8 / 81 * ln 2) as cov_eq.
  { unfold cov, covariance, centered, mean, log_softmax; simpl.
    rewrite third, two_thirds, A_0, A_1; unfold Rdiv at 2 4 6 8 10.
    rewrite ln_mult, ln_Rinv by lra; field. }
  assert (0 < ln 2) as log_2 by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (forall eta, 0 < eta -> / 2 * cov <= eta * (Rabs constant + (1 + ln (INR 2)) / 4) / 16) as small.
  { intros eta positive.
    specialize (printed z reward eta [0%nat] positive inside); cbv zeta in printed.
    fold gradient A cov in printed.
    pose proof (first_order_error 2 (z [0%nat]) (fun a => eta * gradient a) ltac:(lia)) as error.
    rewrite covariance_scal_r in error.
    rewrite (covariance_ext 2 _ _ gradient _ (fun a => / 2 * A a)) in error
      by (intros; try apply half; reflexivity).
    rewrite covariance_scal_r in error; fold cov in error; unfold entropy_change, moved_by in error.
    set (change := entropy 2 _ - entropy 2 _) in *.
    assert (sum 2 (fun a => eta * gradient a * (eta * gradient a)) <= eta * eta / 16) as squares
      by (simpl; rewrite !half, A_0, A_1; nra).
    assert (0 <= sum 2 (fun a => eta * gradient a * (eta * gradient a))) as nonneg
      by (apply sum_nonneg; intros; apply Rle_0_sqr).
    set (N := sum 2 _) in *.
    apply Rabs_le_between in printed; apply Rabs_le_between in error.
    pose proof (Rle_abs constant); pose proof (Rabs_pos constant).
    assert (constant * N <= Rabs constant * N) by (apply Rmult_le_compat_r; lra).
    assert (0 < ln (INR 2)) by (simpl INR; replace (1 + 1) with 2 by ring; assumption).
    assert ((Rabs constant + (1 + ln (INR 2)) / 4) * N
            <= (Rabs constant + (1 + ln (INR 2)) / 4) * (eta * eta / 16)) by (apply Rmult_le_compat_l; lra).
    apply Rmult_le_reg_l with eta; [assumption|]; lra. }
  set (K := Rabs constant + (1 + ln (INR 2)) / 4) in *.
  assert (0 < K) as K_pos.
  { unfold K; pose proof (Rabs_pos constant).
    assert (0 < ln (INR 2)) by (simpl INR; replace (1 + 1) with 2 by ring; assumption); lra. }
  assert (0 < cov / K) as ratio by (apply Rdiv_lt_0_compat; lra).
  specialize (small (cov / K) ratio).
  replace (cov / K * K / 16) with (cov / 16) in small by (field; lra); lra.
Qed.

Theorem entropy_under_policy_gradient :
  forall (n h : nat) (z : policy) (reward : state -> R) (learning_rate : R) (s : state),
  (2 <= n)%nat -> 0 < learning_rate -> state_of n h s ->
  let step a := learning_rate * gradient_over_responses n h z reward s a in
  let rate := - probability n z s * covariance n (softmax n (z s)) (log_softmax n (z s))
    (fun a => softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a) in
  (forall a, (a < n)%nat -> derivative (fun x => mean_responses n h (set_logit z s a x) reward) (z s a)
     (gradient_over_responses n h z reward s a)) /\
  Rabs (entropy n (fun a => z s a + step a) - entropy n (z s) - learning_rate * rate)
    <= (1 + ln (INR n)) * sum n (fun a => step a * step a) / 4 /\
  (h = 1%nat -> probability n z s = 1).
Proof.
  intros n h z reward eta s several positive inside step rate; assert (0 < n)%nat as some by lia.
  repeat split.
  - intros a a_inside; rewrite response_gradient_advantage by (assumption || apply inside).
    apply is_derive_Reals, is_derive_expected_reward_logit; assumption.
  - pose proof (first_order_error n (z s) step some) as error; unfold entropy_change in error.
    replace (entropy n (fun a => z s a + step a) - entropy n (z s) - eta * rate)
      with (entropy n (moved_by (z s) step) - entropy n (z s)
            + covariance n (softmax n (z s)) (log_softmax n (z s)) step); [exact error|].
    rewrite (covariance_ext n _ _ step (log_softmax n (z s)) (fun a => eta * probability n z s *
      (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a))).
    + rewrite covariance_scal_r; unfold rate, moved_by; ring.
    + reflexivity.
    + intros a _; unfold step; rewrite response_gradient_advantage by (assumption || apply inside).
      ring.
  - intros one; destruct inside as [short _]; destruct s; [reflexivity|simpl in short; lia].
Qed.

Theorem proved : Statements.entropy_mechanism.theorem_1.repair.
Proof.
  unfold Stated.repair, Stated.remainder_bound, Stated.policy_gradient, Stated.reward_through,
    Stated.weighted_advantage, Stated.advantage.
  intros n h logits reward eta several long positive; assert (0 < n)%nat as some by lia.
  assert (forall s a, total_through n h (fun y => probability n logits y * reward y) s a
    - sum n (total_through n h (fun y => probability n logits y * reward y) s) * softmax n (logits s) a
    = gradient_over_responses n h logits reward s a) as reinforce by (intros; apply reinforce_response_gradient).
  split.
  - intros s inside.
    destruct (entropy_under_policy_gradient n h logits reward eta s several positive inside)
      as [_ [error _]]; cbv zeta in error.
    unfold entropy_change, moved_by.
    assert (forall a, eta * (total_through n h (fun y => probability n logits y * reward y) s a
      - sum n (total_through n h (fun y => probability n logits y * reward y) s) * softmax n (logits s) a)
      = eta * gradient_over_responses n h logits reward s a) as step by (intros; rewrite reinforce; reflexivity).
    rewrite (entropy_ext n (fun a => logits s a + _) (fun a => logits s a + eta * gradient_over_responses n h logits reward s a))
      by (intros; rewrite step; reflexivity).
    rewrite (sum_ext n (fun a => eta * _ * (eta * _)) (fun a =>
      eta * gradient_over_responses n h logits reward s a * (eta * gradient_over_responses n h logits reward s a)))
      by (intros; rewrite step; reflexivity).
    rewrite (covariance_ext n _ _ _ (log_softmax n (logits s)) (fun a =>
      softmax n (logits s) a * advantage_at n h logits (edge_reward h reward) s a))
      by (intros; try rewrite advantage_centered by apply inside; reflexivity).
    rewrite Ropp_mult_distr_l_reverse in error; rewrite <- Ropp_mult_distr_r; exact error.
  - intros w; apply is_derive_Reals; evar_last.
    + apply (is_derive_expected_reward_direction n h logits reward w some); lia.
    + apply sum_states_ext; intros s [short _]; apply sum_ext; intros a _.
      rewrite reinforce, response_gradient_advantage by assumption; reflexivity.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.theorem_1.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)), 1; witnessed.
Qed.

Theorem defined : Statements.entropy_mechanism.theorem_1.defined.
Proof. domains. Qed.
