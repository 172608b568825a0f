(** Entropy Mechanism, "Empirical verification", repaired: what the covariance over actions is over
    responses.

    For every direction x of the token logits, sum_s d(s) Cov_s(log pi - H(sa), x) equals
    Cov_y(log pi(y), sum_t (x_t - E x_t)); the policy gradient's direction is x = d(s) pi(a|s) A(s, a).
    For one token both are the covariance over actions. The printed equality, of Cov_s(log pi, pi A) and
    Cov_y(log pi(y), pi(y) A(y)), fails for two tokens out of two, even but behind the second one (1 : 2),
    which alone is rewarded: every covariance over actions is zero, that over responses is positive. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.entropy_mechanism Require action_sequence_covariance.
Module Stated := Statements.entropy_mechanism.action_sequence_covariance.
Import ListNotations.
Open Scope R_scope.

Theorem printed_is_false :
  ~ forall (n h : nat) (z : policy) (reward : state -> R),
    (2 <= n)%nat -> (1 <= h)%nat ->
    sum_states n h (fun s => probability n z s * covariance n (softmax n (z s)) (log_softmax n (z s))
      (fun a => softmax n (z s) a * advantage n h z (edge_reward h reward) s a))
    = covariance_responses n h z (fun y => ln (probability n z y))
        (fun y => probability n z y * (reward y - mean_responses n h z reward)).
Proof.
  intros printed.
  set (z := fun (s : state) (a : nat) => match s, a with [1%nat], 1%nat => ln 2 | _, _ => 0 end).
  set (reward := fun y : state => match y with 1%nat :: _ => 1 | _ => 0 end).
  specialize (printed 2%nat 2%nat z reward ltac:(lia) ltac:(lia)).
  assert (forall a, softmax 2 (z []) a = / 2 /\ softmax 2 (z [0%nat]) a = / 2) as even.
  { intros a; unfold softmax, z; simpl; rewrite exp_0; split; field. }
  assert (softmax 2 (z [1%nat]) 0%nat = / 3) as third
    by (unfold softmax, z; simpl; rewrite exp_0, exp_ln by lra; field).
  assert (softmax 2 (z [1%nat]) 1%nat = 2 / 3) as two_thirds
    by (unfold softmax, z; simpl; rewrite exp_0, exp_ln by lra; field).
  clearbody z.
  assert (sum_states 2 2 (fun s => probability 2 z s * covariance 2 (softmax 2 (z s))
    (log_softmax 2 (z s)) (fun a => softmax 2 (z s) a * advantage 2 2 z (edge_reward 2 reward) s a)) = 0)
    as actions.
  { rewrite (sum_states_ext 2 2 _ (fun _ => 0 * 0)); [rewrite sum_states_scal; ring|].
    intros s inside; rewrite (Rmult_0_l 0); apply Rmult_eq_0_compat_l.
    assert (forall f g, (f 0%nat = f 1%nat \/ g 0%nat = g 1%nat) ->
              covariance 2 (softmax 2 (z s)) f g = 0) as constant.
    { intros f g same; pose proof (softmax_sum 2 (z s) ltac:(lia)) as one; simpl in one.
      unfold covariance, centered, mean; simpl.
      set (p := softmax 2 (z s) 0%nat) in *; replace (softmax 2 (z s) 1%nat) with (1 - p) by lra.
      destruct same as [same|same]; rewrite same; ring. }
    apply constant; destruct inside as [short below_n]; destruct s as [|a [|b rest]]; simpl in short; [| |lia].
    - left; unfold log_softmax; rewrite !(proj1 (even _)); reflexivity.
    - right; rewrite !advantage_centered by (simpl; lia).
      assert (forall b, action_value 2 2 z (edge_reward 2 reward) [a] b = reward [a; 0%nat]) as decided.
      { intros b; unfold action_value, edge_reward; simpl.
        destruct a as [|[|a]]; simpl; ring. }
      unfold centered, mean; simpl; rewrite !decided.
      pose proof (softmax_sum 2 (z [a]) ltac:(lia)) as one; simpl in one.
      set (p := softmax 2 (z [a]) 0%nat) in *; replace (softmax 2 (z [a]) 1%nat) with (1 - p) by lra; ring. }
  rewrite actions in printed; rewrite covariance_responses_eq in printed by lia.
  unfold mean_responses in printed; simpl in printed.
  unfold after in printed; simpl in printed; unfold after in printed.
  rewrite !(proj1 (even _)), !(proj2 (even _)), third, two_thirds in printed.
  replace (/ 2 * (/ 2 * 1)) with (/ 4) in printed by field.
  replace (/ 2 * (/ 3 * 1)) with (/ 6) in printed by field.
  replace (/ 2 * (2 / 3 * 1)) with (/ 3) in printed by field.
  rewrite !ln_Rinv in printed by lra.
  assert (ln 4 = 2 * ln 2) as four by (replace 4 with (2 * 2) by ring; rewrite ln_mult by lra; ring).
  assert (ln 6 = ln 2 + ln 3) as six by (replace 6 with (2 * 3) by ring; rewrite ln_mult by lra; ring).
  assert (5 * ln 2 > 3 * ln 3) as different.
  { replace (5 * ln 2) with (ln 32); [replace (3 * ln 3) with (ln 27); [apply ln_increasing; lra|]|].
    - replace 27 with (3 ^ 3) by ring; rewrite <- Rpower_pow, ln_Rpower by lra; simpl; ring.
    - replace 32 with (2 ^ 5) by ring; rewrite <- Rpower_pow, ln_Rpower by lra; simpl; ring. }
  assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  rewrite four, six in printed; lra.
Qed.

Theorem covariance_of_actions_as_of_responses :
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let sides x :=
    sum_states n h (fun s => probability n z s *
      covariance n (softmax n (z s)) (fun a => log_softmax n (z s) a - entropy_to_go n h z s a) (x s))
    = covariance_responses n h z (sum_along (log_policy n z)) (sum_along (centered_policy n z x)) in
  sides (gradient_formula n h z reward) /\ forall x, sides x.
Proof.
  intros n h z reward several long sides; assert (0 < n)%nat as some by lia.
  assert (forall x, sides x) as every
    by (intros x; symmetry; apply covariance_log_policy_states, some).
  split; [apply every|exact every].
Qed.

Theorem proved : Statements.entropy_mechanism.action_sequence_covariance.repair.
Proof.
  unfold Stated.repair, Stated.action_covariance, Stated.response_covariance, Stated.summed.
  intros n h logits reward several long; assert (0 < n)%nat as some by lia.
  set (x := Stated.gradient_formula n h logits reward).
  transitivity (covariance_responses n h logits (sum_along (log_policy n logits))
                  (sum_along (centered_policy n logits x))); [|reflexivity].
  rewrite covariance_log_policy_states by assumption; apply sum_states_ext; intros s _; f_equal.
  apply covariance_ext; [|reflexivity]; intros a _.
  unfold Stated.entropy_to_go, action_value,
    entropy_to_go, log_policy; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.action_sequence_covariance.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)); witnessed.
Qed.
