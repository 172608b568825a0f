(** Values on token trees: expected sums along responses, seen from any state.

    A value is an expectation over responses and a sum over states weighted with their visits; at a
    state it is the expectation of the action value, so that the advantage has mean zero; for a reward
    of responses it is the conditional expectation of the reward given the state. The entropy of
    responses is the value of -log pi: the expected sum of the token entropies. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees.
Import ListNotations.
Open Scope R_scope.

(** * Values *)

Lemma value_ext n h : forall z e e',
  (forall s a, state_of n h s -> (a < n)%nat -> e s a = e' s a) -> value n h z e = value n h z e'.
Proof.
  induction h as [|k IH]; intros z e e' same; simpl; [reflexivity|].
  apply mean_ext; intros a inside; rewrite same by (try apply state_of_nil; assumption); f_equal.
  apply IH; intros s b state b_inside; apply same; [apply state_of_cons|]; assumption.
Qed.

Lemma value_plus n h : forall z e f,
  value n h z (fun s a => e s a + f s a) = value n h z e + value n h z f.
Proof.
  induction h as [|k IH]; intros z e f; simpl; [ring|].
  rewrite <- mean_plus; apply mean_ext; intros a _; unfold after in *.
  rewrite (IH (fun s => z (a :: s)) (fun s => e (a :: s)) (fun s => f (a :: s))); ring.
Qed.

Lemma value_scal n h : forall z c e, value n h z (fun s a => c * e s a) = c * value n h z e.
Proof.
  induction h as [|k IH]; intros z c e; simpl; [ring|].
  rewrite <- mean_scal; apply mean_ext; intros a _; unfold after in *.
  rewrite (IH (fun s => z (a :: s)) c (fun s => e (a :: s))); ring.
Qed.

Lemma value_opp n h z e : value n h z (fun s a => - e s a) = - value n h z e.
Proof.
  rewrite (value_ext n h z _ (fun s a => -1 * e s a)) by (intros; ring).
  rewrite value_scal; ring.
Qed.

Lemma value_minus n h z e f :
  value n h z (fun s a => e s a - f s a) = value n h z e - value n h z f.
Proof.
  rewrite (value_ext n h z _ (fun s a => e s a + - f s a)) by (intros; ring).
  rewrite value_plus, value_opp; ring.
Qed.

(** A value is an expectation over responses, *)
Lemma value_responses n h : forall z e,
  (0 < n)%nat -> value n h z e = mean_responses n h z (sum_along e).
Proof.
  induction h as [|k IH]; intros z e some; [unfold mean_responses; simpl; ring|].
  rewrite mean_responses_first; simpl; apply mean_ext; intros a _.
  rewrite IH by assumption.
  change (after a (sum_along e)) with (fun y => e [] a + sum_along (after a e) y).
  rewrite (mean_responses_plus n k (after a z) (fun _ => e [] a) (sum_along (after a e))).
  rewrite mean_responses_const by assumption; reflexivity.
Qed.

(** and a sum over states, weighted with their visits. *)
Lemma value_states n h : forall z e,
  (0 < n)%nat ->
  value n h z e = sum_states n h (fun s => probability n z s * mean n (softmax n (z s)) (e s)).
Proof.
  induction h as [|k IH]; intros z e some; [reflexivity|].
  rewrite sum_states_first; simpl; rewrite (mean_plus n _ (e [])), Rmult_1_l; f_equal.
  apply sum_ext; intros a _; rewrite IH by assumption; rewrite <- sum_states_scal.
  apply sum_states_ext; intros s _; unfold after; simpl; unfold after; ring.
Qed.

Lemma value_at_below n h z e s :
  value_at n h z e s = value n (h - length s) (below s z) (below s e).
Proof.
  revert h z e; induction s as [|a rest IH]; intros h z e; simpl.
  - rewrite Nat.sub_0_r; reflexivity.
  - rewrite IH; replace (pred h - length rest)%nat with (h - S (length rest))%nat by lia; reflexivity.
Qed.

Lemma value_at_opp n h z e s : value_at n h z (fun u a => - e u a) s = - value_at n h z e s.
Proof.
  rewrite !value_at_below; change (below s (fun u a => - e u a)) with (fun u a => - below s e u a).
  apply value_opp.
Qed.

Lemma value_at_regularized n h z e c f s :
  value_at n h z (fun u a => e u a - c * f u a) s = value_at n h z e s - c * value_at n h z f s.
Proof.
  rewrite !value_at_below.
  change (below s (fun u a => e u a - c * f u a)) with (fun u a => below s e u a - c * below s f u a).
  rewrite (value_minus n _ _ (below s e) (fun u a => c * below s f u a)), value_scal; reflexivity.
Qed.

(** V(s) = E_s[e(s, a) + V(s a)]. *)
Lemma value_at_state n z : forall s h e,
  (length s < h)%nat -> value_at n h z e s = mean n (softmax n (z s)) (action_value n h z e s).
Proof.
  intros s; revert z; induction s as [|a rest IH]; intros z [|k] e short; simpl in *; try lia.
  - apply mean_ext; intros; reflexivity.
  - rewrite (IH (after a z) k (after a e)) by lia; reflexivity.
Qed.

(** The advantage has mean zero (Cui et al., Lemma 3). *)
Lemma mean_advantage n h z e s :
  (0 < n)%nat -> (length s < h)%nat -> mean n (softmax n (z s)) (advantage_at n h z e s) = 0.
Proof.
  intros some short; unfold advantage_at.
  rewrite mean_minus, mean_const by (apply softmax_sum, some).
  rewrite value_at_state by assumption; ring.
Qed.

Lemma advantage_centered n h z e s a :
  (length s < h)%nat ->
  advantage_at n h z e s a = centered n (softmax n (z s)) (action_value n h z e s) a.
Proof.
  intros short; unfold advantage_at, centered; rewrite value_at_state by assumption; reflexivity.
Qed.

(** A covariance with Q is the expectation with A: E_s[A x]. *)
Lemma covariance_action_value n h z e s x :
  (0 < n)%nat -> (length s < h)%nat ->
  covariance n (softmax n (z s)) (action_value n h z e s) x =
  mean n (softmax n (z s)) (fun a => advantage_at n h z e s a * x a).
Proof.
  intros some short; rewrite covariance_centered_l by (apply softmax_sum, some).
  apply mean_ext; intros a _; rewrite advantage_centered by assumption; reflexivity.
Qed.

(** What is behind the state [a], seen from the root and from there. *)
Lemma action_value_after n h z e a s b :
  action_value n (S h) z e (a :: s) b = action_value n h (after a z) (after a e) s b.
Proof. reflexivity. Qed.

Lemma action_value_root n h z e a :
  action_value n (S h) z e [] a = e [] a + value n h (after a z) (after a e).
Proof. reflexivity. Qed.

(** * Rewards of responses *)

Lemma edge_reward_after h reward a s b :
  edge_reward (S h) reward (a :: s) b = edge_reward h (after a reward) s b.
Proof. reflexivity. Qed.

Lemma edge_reward_below h reward s u b :
  edge_reward h reward (s ++ u) b = edge_reward (h - length s) (below s reward) u b.
Proof.
  unfold edge_reward, below; rewrite app_length, app_assoc.
  destruct (Nat.eqb_spec (S (length s + length u)) h) as [last|not_last];
    destruct (Nat.eqb_spec (S (length u)) (h - length s)) as [last'|not_last'];
    try reflexivity; lia.
Qed.

(** The sum along a response of h tokens, one at least, of a reward put on the last one. *)
Lemma sum_along_edge_reward : forall y reward,
  (0 < length y)%nat -> sum_along (edge_reward (length y) reward) y = reward y.
Proof.
  induction y as [|a [|b rest] IH]; intros reward some; simpl in some; [lia| |].
  - unfold edge_reward; simpl; ring.
  - change (edge_reward (length (a :: b :: rest)) reward [] a
            + sum_along (edge_reward (length (b :: rest)) (after a reward)) (b :: rest)
            = after a reward (b :: rest)).
    rewrite IH by (simpl; lia); unfold edge_reward; simpl; ring.
Qed.

Lemma value_edge_reward n h z reward :
  (0 < n)%nat -> (0 < h)%nat ->
  value n h z (edge_reward h reward) = mean_responses n h z reward.
Proof.
  intros some long; rewrite value_responses by assumption.
  apply mean_responses_ext; intros y [length_y _].
  rewrite <- length_y; apply sum_along_edge_reward; lia.
Qed.

(** * Conditional expectations given a state *)

Lemma sum_through_mean n h z f s :
  sum_through n h z f s = probability n z s * mean_responses n (h - length s) (below s z) (below s f).
Proof.
  unfold sum_through, mean_responses; rewrite <- sum_responses_scal.
  apply sum_responses_ext; intros y _; rewrite probability_app; unfold below; ring.
Qed.

Lemma probability_through n h z s :
  (0 < n)%nat -> sum_through n h z (fun _ => 1) s = probability n z s.
Proof.
  intros some; rewrite sum_through_mean; unfold below at 2.
  rewrite mean_responses_const by assumption; ring.
Qed.

(** V(s) is the expected reward given that a response passes through s, *)
Lemma sum_through_value n h z reward s :
  (0 < n)%nat -> (length s < h)%nat ->
  sum_through n h z reward s = probability n z s * value_at n h z (edge_reward h reward) s.
Proof.
  intros some short; rewrite sum_through_mean, value_at_below; f_equal.
  rewrite <- value_edge_reward by (assumption || lia).
  apply value_ext; intros u a _ _; symmetry; apply edge_reward_below.
Qed.

(** and Q(s, a) that given that it takes token a there. *)
Lemma sum_through_action_value n h z reward s a :
  (0 < n)%nat -> (length s < h)%nat ->
  sum_through n h z reward (s ++ [a]) =
  probability n z s * softmax n (z s) a * action_value n h z (edge_reward h reward) s a.
Proof.
  intros some short.
  destruct (Nat.eq_dec (S (length s)) h) as [last|not_last].
  - rewrite sum_through_mean, app_length, probability_child; simpl.
    replace (h - (length s + 1))%nat with 0%nat by lia.
    unfold mean_responses, action_value; simpl.
    unfold below; rewrite app_nil_r.
    rewrite value_at_below, app_length; simpl.
    replace (h - (length s + 1))%nat with 0%nat by lia; simpl.
    unfold edge_reward at 1; rewrite (proj2 (Nat.eqb_eq _ _) last); ring.
  - rewrite sum_through_value by (try rewrite app_length; simpl; assumption || lia).
    rewrite probability_child; unfold action_value, edge_reward at 2.
    rewrite (proj2 (Nat.eqb_neq _ _) not_last); ring.
Qed.

(** * From a state on *)

Lemma below_below {X : Type} s u (f : state -> X) w : below u (below s f) w = f (s ++ u ++ w).
Proof. reflexivity. Qed.

Lemma value_at_app n h z e s u :
  value_at n h z e (s ++ u) = value_at n (h - length s) (below s z) (below s e) u.
Proof.
  revert h z e; induction s as [|a rest IH]; intros h z e; simpl.
  - rewrite Nat.sub_0_r; reflexivity.
  - rewrite IH; replace (pred h - length rest)%nat with (h - S (length rest))%nat by lia; reflexivity.
Qed.

Lemma action_value_app n h z e s u a :
  action_value n h z e (s ++ u) a = action_value n (h - length s) (below s z) (below s e) u a.
Proof. unfold action_value; rewrite <- app_assoc, value_at_app; reflexivity. Qed.

(** Two policies, two edges: the value differs by what each state visited by the first would gain by
    choosing its token, and its edge, from the first, and everything after from the second. *)
Lemma performance_difference n h : forall z' z e' e,
  (0 < n)%nat ->
  value n h z' e' - value n h z e =
  sum_states n h (fun s => probability n z' s *
    (mean n (softmax n (z' s)) (fun a => e' s a + value_at n h z e (s ++ [a])) - value_at n h z e s)).
Proof.
  induction h as [|k IH]; intros z' z e' e some; [unfold sum_states; simpl; ring|].
  rewrite sum_states_first.
  change (value_at n (S k) z e []) with (value n (S k) z e).
  change (value n (S k) z' e') with
    (mean n (softmax n (z' [])) (fun a => e' [] a + value n k (after a z') (after a e'))).
  rewrite (mean_plus n _ (e' [])), (mean_ext n _ (fun a => value n k (after a z') (after a e'))
    (fun a => value n k (after a z) (after a e)
              + (value n k (after a z') (after a e') - value n k (after a z) (after a e))))
    by (intros; ring).
  rewrite mean_plus.
  rewrite (mean_plus n _ (e' []) (fun a => value_at n (S k) z e ([] ++ [a]))).
  change (mean n (softmax n (z' [])) (fun a => value_at n (S k) z e ([] ++ [a])))
    with (mean n (softmax n (z' [])) (fun a => value n k (after a z) (after a e))).
  simpl probability; rewrite Rmult_1_l.
  rewrite (sum_ext n _ (fun a => softmax n (z' []) a *
    (value n k (after a z') (after a e') - value n k (after a z) (after a e)))).
  - fold (mean n (softmax n (z' []))
      (fun a => value n k (after a z') (after a e') - value n k (after a z) (after a e))); ring.
  - intros a _; rewrite IH by assumption; rewrite <- sum_states_scal.
    apply sum_states_ext; intros s _; unfold after; simpl; unfold after; ring.
Qed.

(** The advantages along a response telescope to its return minus the value. *)
Lemma sum_along_advantage n : forall y h z e,
  length y = h -> sum_along (advantage_at n h z e) y = sum_along e y - value n h z e.
Proof.
  induction y as [|a rest IH]; intros h z e long; simpl in long; subst h.
  - simpl; ring.
  - change (sum_along (advantage_at n (S (length rest)) z e) (a :: rest)) with
      (advantage_at n (S (length rest)) z e [] a
       + sum_along (advantage_at n (length rest) (after a z) (after a e)) rest).
    rewrite IH by reflexivity; unfold advantage_at, action_value; simpl; ring.
Qed.

(** * Entropy of responses *)

Lemma response_entropy_mean n h z :
  (0 < n)%nat ->
  response_entropy n h z = - mean_responses n h z (sum_along (log_policy n z)).
Proof.
  intros some; unfold response_entropy, mean_responses; f_equal.
  apply sum_responses_ext; intros y _; rewrite ln_probability by assumption; reflexivity.
Qed.

(** The entropy of responses is the value of -log pi, *)
Lemma response_entropy_value n h z :
  (0 < n)%nat -> response_entropy n h z = value n h z (fun s a => - log_policy n z s a).
Proof.
  intros some; rewrite value_opp, value_responses by assumption.
  apply response_entropy_mean, some.
Qed.

(** and the sum of the states' entropies, weighted with their visits. *)
Lemma response_entropy_states n h z :
  (0 < n)%nat ->
  response_entropy n h z = sum_states n h (fun s => probability n z s * entropy n (z s)).
Proof.
  intros some; rewrite response_entropy_value, value_states by assumption.
  apply sum_states_ext; intros s _; rewrite mean_opp; reflexivity.
Qed.

Lemma value_regularized_edge n h z reward lambda :
  (0 < n)%nat -> (0 < h)%nat ->
  value n h z (edge_with_entropy n h z reward lambda) = value_with_entropy n h z reward lambda.
Proof.
  intros some long; unfold edge_with_entropy, value_with_entropy.
  rewrite (value_minus n h z (edge_reward h reward) (fun s a => lambda * log_policy n z s a)).
  rewrite value_scal, value_edge_reward, response_entropy_value, value_opp by assumption; ring.
Qed.
