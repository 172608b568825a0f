(** Visits of the soft policy: it generates the tokens s with the probability
    e^((reward so far + V*_lambda(s) - V*_lambda)/lambda). With a single right response out of N = n^h
    (returns 1 and 0) the state before its last token is visited with the probability
    (E + n - 1)/(E + N - 1), E = e^(1/lambda). *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities Trees TreeValues
  TreeGradientBounds SoftOptimum.
Import ListNotations.
Open Scope R_scope.

Lemma soft_choice n q lambda a :
  (0 < n)%nat -> 0 < lambda ->
  softmax n (fun b => q b / lambda) a
  = exp ((q a - lambda * ln (sum n (fun b => exp (q b / lambda)))) / lambda).
Proof.
  intros some positive; pose proof (normalizer_pos n (fun b => q b / lambda) some) as Z_pos.
  cbv beta in Z_pos; set (Z := sum n (fun b => exp (q b / lambda))) in *.
  replace ((q a - lambda * ln Z) / lambda) with (q a / lambda + - ln Z) by (field; lra).
  rewrite exp_plus, exp_Ropp, exp_ln by assumption; reflexivity.
Qed.

Theorem soft_probability n lambda : forall s h e,
  (0 < n)%nat -> 0 < lambda -> (length s <= h)%nat ->
  probability n (soft_policy n h lambda e) s
  = exp ((sum_along e s + soft_value_at n h lambda e s - soft_value n h lambda e) / lambda).
Proof.
  induction s as [|a rest IH]; intros h e some positive short.
  - simpl; replace (0 + soft_value n h lambda e - soft_value n h lambda e) with 0 by ring.
    unfold Rdiv; rewrite Rmult_0_l, exp_0; reflexivity.
  - destruct h as [|k]; simpl in short; [lia|].
    cbn [probability sum_along soft_value_at pred].
    change (after a (soft_policy n (S k) lambda e)) with (soft_policy n k lambda (after a e)).
    rewrite IH by (assumption || lia).
    change (soft_policy n (S k) lambda e [])
      with (fun b => (e [] b + soft_value n k lambda (after b e)) / lambda).
    rewrite (soft_choice n (fun b => e [] b + soft_value n k lambda (after b e))) by assumption.
    change (lambda * ln (sum n (fun b => exp ((e [] b + soft_value n k lambda (after b e)) / lambda))))
      with (soft_value n (S k) lambda e).
    rewrite <- exp_plus; f_equal; field; lra.
Qed.

Lemma soft_value_at_below n lambda : forall s h e,
  soft_value_at n h lambda e s = soft_value n (h - length s) lambda (below s e).
Proof.
  induction s as [|a rest IH]; intros h e; cbn [soft_value_at length].
  - rewrite Nat.sub_0_r; reflexivity.
  - rewrite IH; replace (pred h - length rest)%nat with (h - S (length rest))%nat by lia; reflexivity.
Qed.

(** Before the last token there is no reward. *)
Lemma sum_along_edge_reward_before : forall s h reward,
  (length s < h)%nat -> sum_along (edge_reward h reward) s = 0.
Proof.
  induction s as [|a rest IH]; intros h reward short; [reflexivity|].
  destruct h as [|k]; simpl in short; [lia|].
  change (sum_along (edge_reward (S k) reward) (a :: rest))
    with (edge_reward (S k) reward [] a + sum_along (edge_reward k (after a reward)) rest).
  rewrite IH by lia; unfold edge_reward; simpl.
  destruct k as [|k]; [lia|simpl; ring].
Qed.

(** A sum over responses of numbers that are zero but for one. *)
Lemma sum_responses_only_one n h : forall (f : state -> R) y,
  response_of n h y -> (forall u, response_of n h u -> u <> y -> f u = 0) -> sum_responses n h f = f y.
Proof.
  induction h as [|k IH]; intros f [|a rest] [long below_n] elsewhere; try discriminate; [reflexivity|].
  inversion below_n; subst; simpl.
  assert (response_of n k rest) as rest_response by (split; [simpl in long; lia|assumption]).
  transitivity (sum n (fun b => if Nat.eqb b a then f (a :: rest) else 0)).
  - apply sum_ext; intros b inside; destruct (Nat.eqb_spec b a) as [->|other].
    + apply (IH (after a f) rest rest_response).
      intros u response different; apply elsewhere; [apply response_of_cons; assumption|congruence].
    + rewrite (sum_responses_ext n k _ (fun _ => 0 * 0)).
      * rewrite sum_responses_scal; ring.
      * intros u response; rewrite Rmult_0_l; apply elsewhere; [|congruence].
        apply response_of_cons; assumption.
  - assert (forall m c, (a < m)%nat -> sum m (fun b => if Nat.eqb b a then c else 0) = c) as one.
    { clear; induction m as [|m IH]; intros c inside; [lia|]; simpl.
      destruct (Nat.eq_dec a m) as [->|other].
      - rewrite Nat.eqb_refl, (sum_ext m _ (fun _ => 0)), sum_zero; [ring|].
        intros b b_inside; rewrite (proj2 (Nat.eqb_neq b m)) by lia; reflexivity.
      - rewrite IH by lia; rewrite (proj2 (Nat.eqb_neq m a)) by lia; ring. }
    apply one; assumption.
Qed.

Lemma sum_responses_one n h : sum_responses n h (fun _ => 1) = INR n ^ h.
Proof.
  induction h as [|k IH]; [reflexivity|]; simpl.
  rewrite (sum_ext n _ (fun _ => INR n ^ k)), sum_const; [reflexivity|].
  intros a _; exact IH.
Qed.

Section OneRight.

Variables (n h : nat) (reward : state -> R) (lambda : R) (y : state).
Hypothesis some : (0 < n)%nat.
Hypothesis long : (0 < h)%nat.
Hypothesis positive : 0 < lambda.
Hypothesis response : response_of n h y.
Hypothesis right : reward y = 1.
Hypothesis wrong : forall u, response_of n h u -> u <> y -> reward u = 0.

Let E := exp (1 / lambda).

Lemma weights_sum :
  sum_responses n h (fun u => exp (reward u / lambda)) = E + INR n ^ h - 1.
Proof.
  rewrite (sum_responses_ext n h _ (fun u => 1 + (exp (reward u / lambda) - 1))) by (intros; ring).
  rewrite (sum_responses_plus n h (fun _ => 1)), sum_responses_one.
  rewrite (sum_responses_only_one n h (fun u => exp (reward u / lambda) - 1) y response).
  - rewrite right; unfold E; ring.
  - intros u inside other; rewrite wrong by assumption.
    unfold Rdiv; rewrite Rmult_0_l, exp_0; ring.
Qed.

Theorem visits_before_right s a :
  y = s ++ [a] ->
  probability n (soft_policy n h lambda (edge_reward h reward)) s
  = (E + INR n - 1) / (E + INR n ^ h - 1).
Proof.
  intros is_y; destruct response as [length_y below_n]; rewrite is_y in length_y, below_n.
  rewrite app_length in length_y; simpl in length_y; apply Forall_app in below_n as [s_below a_below].
  assert (a < n)%nat as a_inside by (inversion a_below; assumption).
  rewrite soft_probability by (assumption || lia).
  rewrite sum_along_edge_reward_before by lia.
  rewrite soft_value_edge_reward, weights_sum, soft_value_at_below by assumption.
  replace (h - length s)%nat with 1%nat by lia; cbn [soft_value].
  assert (sum n (fun b => exp ((below s (edge_reward h reward) [] b + 0) / lambda)) = E + INR n - 1)
    as last.
  { rewrite (sum_ext n _ (fun b => 1 + (exp (reward (s ++ [b]) / lambda) - 1))).
    - rewrite (sum_plus n (fun _ => 1)), sum_const.
      rewrite (sum_ext n _ (fun b => if Nat.eqb b a then E - 1 else 0)).
      + pose proof (sum_responses_only_one n 1 (fun u => match u with
          | [b] => if Nat.eqb b a then E - 1 else 0 | _ => 0 end) [a]) as one.
        simpl in one; unfold after in one; rewrite Nat.eqb_refl in one; rewrite one; [ring| |].
        * split; [reflexivity|assumption].
        * intros [|b [|c u]] [u_long _] other; try discriminate.
          destruct (Nat.eqb_spec b a); [congruence|reflexivity].
      + intros b inside; destruct (Nat.eqb_spec b a) as [->|other].
        * rewrite <- is_y, right; reflexivity.
        * rewrite wrong.
          -- unfold Rdiv; rewrite Rmult_0_l, exp_0; ring.
          -- split; [rewrite app_length; simpl; lia|].
             apply Forall_app; split; [assumption|repeat constructor; assumption].
          -- rewrite is_y; intros same; apply app_inj_tail in same; destruct same; contradiction.
    - intros b _; unfold below; rewrite app_nil_r, Rplus_0_r.
      unfold edge_reward; rewrite (proj2 (Nat.eqb_eq _ _)) by lia; ring. }
  rewrite last.
  assert (1 < E) as E_above.
  { unfold E; rewrite <- exp_0 at 1; apply exp_increasing, Rdiv_lt_0_compat; lra. }
  assert (1 <= INR n) as one_n by (apply (le_INR 1); lia).
  assert (0 < INR n ^ h) by (apply pow_lt; lra).
  replace ((0 + lambda * ln (E + INR n - 1) - lambda * ln (E + INR n ^ h - 1)) / lambda)
    with (ln (E + INR n - 1) + - ln (E + INR n ^ h - 1)) by (field; lra).
  rewrite exp_plus, exp_Ropp, !exp_ln by lra; reflexivity.
Qed.

End OneRight.
