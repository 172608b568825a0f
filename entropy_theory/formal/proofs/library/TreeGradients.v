(** Gradients on token trees, one logit at a time.

    The partial derivative of a value in the logit of token a at state s is d(s) pi(a|s) A(s, a)
    ([is_derive_expected_reward_logit]); REINFORCE, written out over responses, is the same number
    ([response_gradient_advantage]). *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates.
Import ListNotations.
Open Scope R_scope.

(** * Partial derivatives

    One logit moves: at state s that of token a. *)

Lemma set_logit_same z s a : set_logit z s a (z s a) = z.
Proof.
  apply functional_extensionality; intros u; apply functional_extensionality; intros b.
  unfold set_logit; destruct (list_eq_dec Nat.eq_dec u s) as [->|_]; [|reflexivity].
  destruct (Nat.eqb_spec b a) as [->|_]; reflexivity.
Qed.

Lemma moved_0 z x : moved z 0 x = z.
Proof.
  apply functional_extensionality; intros s; apply functional_extensionality; intros a.
  unfold moved; ring.
Qed.

(** The direction of one logit. *)
Definition one_logit (s : state) (a : nat) : state -> vector :=
  fun u b => if list_eq_dec Nat.eq_dec u s then (if Nat.eqb b a then 1 else 0) else 0.

Lemma is_derive_set_logit z s a x u b :
  is_derive (fun r => set_logit z s a r u b) x (one_logit s a u b).
Proof.
  unfold set_logit, one_logit; destruct (list_eq_dec Nat.eq_dec u s); [|apply @is_derive_const].
  destruct (Nat.eqb b a); [apply @is_derive_id|apply @is_derive_const].
Qed.

Lemma sum_only_one n f a :
  (a < n)%nat -> sum n (fun b => if Nat.eqb b a then f b else 0) = f a.
Proof.
  induction n as [|k IH]; intros inside; [lia|]; simpl.
  destruct (Nat.eq_dec a k) as [->|other].
  - rewrite Nat.eqb_refl, (sum_ext k _ (fun _ => 0)), sum_zero; [ring|].
    intros b b_inside; rewrite (proj2 (Nat.eqb_neq b k)) by lia; reflexivity.
  - rewrite IH by lia; rewrite (proj2 (Nat.eqb_neq k a)) by lia; ring.
Qed.

Lemma mean_one_logit n p f s a :
  (a < n)%nat -> mean n p (fun b => f b * one_logit s a s b) = p a * f a.
Proof.
  intros inside; unfold mean, one_logit.
  destruct (list_eq_dec Nat.eq_dec s s) as [_|different]; [|contradiction].
  rewrite (sum_ext n _ (fun b => if Nat.eqb b a then p b * f b else 0)).
  - apply (sum_only_one n (fun b => p b * f b)), inside.
  - intros b _; destruct (Nat.eqb b a); ring.
Qed.

Lemma sum_states_only_one n h : forall (f : state -> R) s,
  state_of n h s -> (forall u, state_of n h u -> u <> s -> f u = 0) -> sum_states n h f = f s.
Proof.
  induction h as [|k IH]; intros f s inside elsewhere; [destruct inside; lia|].
  rewrite sum_states_first.
  assert (forall m g, (forall u, state_of n m u -> g u = 0) -> sum_states n m g = 0) as all_zero.
  { intros m g zero; rewrite (sum_states_ext n m g (fun _ => 0 * 0)) by (intros; rewrite zero; auto; ring).
    rewrite sum_states_scal; ring. }
  destruct s as [|a rest].
  - rewrite (sum_ext n _ (fun _ => 0)), sum_zero; [ring|].
    intros a a_inside; apply all_zero; intros u u_inside; apply elsewhere; [|discriminate].
    apply state_of_cons; assumption.
  - destruct (state_of_tail _ _ _ _ inside) as [a_inside rest_inside].
    rewrite elsewhere by (try apply state_of_nil; discriminate).
    rewrite (sum_ext n _ (fun b => if Nat.eqb b a then sum_states n k (after b f) else 0)).
    + rewrite (sum_only_one n (fun b => sum_states n k (after b f))) by assumption.
      rewrite (IH (after a f) rest rest_inside); [unfold after; ring|].
      intros u u_inside other; apply elsewhere; [apply state_of_cons; assumption|congruence].
    + intros b b_inside; destruct (Nat.eqb_spec b a) as [->|other]; [reflexivity|].
      apply all_zero; intros u u_inside; apply elsewhere; [apply state_of_cons; assumption|congruence].
Qed.

(** A direction that is zero at all states but s meets s alone. *)
Lemma sum_states_one_logit n h (weight : state -> R) (p f : state -> vector) s a :
  state_of n h s -> (a < n)%nat ->
  sum_states n h (fun u => weight u * mean n (p u) (fun b => f u b * one_logit s a u b)) =
  weight s * (p s a * f s a).
Proof.
  intros inside a_inside; rewrite (sum_states_only_one n h _ s inside).
  - rewrite mean_one_logit by assumption; reflexivity.
  - intros u _ other; unfold mean, one_logit.
    destruct (list_eq_dec Nat.eq_dec u s) as [same|_]; [contradiction|].
    rewrite (sum_ext n _ (fun _ => 0)), sum_zero by (intros; ring); ring.
Qed.

(** dJ/dz(s, a) = d(s) pi(a|s) A(s, a). *)
Lemma is_derive_expected_reward_logit n h z reward s a :
  (0 < n)%nat -> state_of n h s -> (a < n)%nat ->
  is_derive (fun x => mean_responses n h (set_logit z s a x) reward) (z s a)
    (probability n z s * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a)).
Proof.
  intros some inside a_inside; evar_last.
  - apply (is_derive_expected_reward n h (set_logit z s a) (one_logit s a) (z s a) some).
    + intros; apply is_derive_set_logit.
    + destruct inside; lia.
  - rewrite set_logit_same.
    apply (sum_states_one_logit n h (probability n z) (fun u => softmax n (z u))); assumption.
Qed.

(** * REINFORCE *)

Lemma sum_through_children n h z reward s :
  (0 < n)%nat -> (length s < h)%nat ->
  sum n (fun a => sum_through n h z reward (s ++ [a])) =
  probability n z s * value_at n h z (edge_reward h reward) s.
Proof.
  intros some short; rewrite value_at_state by assumption; unfold mean; rewrite <- sum_scal.
  apply sum_ext; intros a _; rewrite sum_through_action_value by assumption; ring.
Qed.

(** REINFORCE over responses is d(s) pi(a|s) A(s, a). *)
Lemma response_gradient_advantage n h z reward s a :
  (0 < n)%nat -> (length s < h)%nat ->
  gradient_over_responses n h z reward s a =
  probability n z s * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a).
Proof.
  intros some short; unfold gradient_over_responses, advantage_at.
  rewrite sum_through_children, sum_through_action_value by assumption; ring.
Qed.

(** A reward that is a sum along the response: what came before s is a constant there. *)
Lemma sum_through_sum_along n h z f c s :
  (0 < n)%nat ->
  sum_through n h z (fun y => sum_along f y + c) s =
  probability n z s * (sum_along f s + c + value_at n h z f s).
Proof.
  intros some; rewrite sum_through_mean, value_at_below, value_responses by assumption; f_equal.
  rewrite (mean_responses_ext n _ _ _
             (fun u => (sum_along f s + c) + sum_along (below s f) u)).
  - rewrite (mean_responses_plus n _ _ (fun _ => sum_along f s + c)), mean_responses_const by assumption.
    reflexivity.
  - intros u _; change (sum_along f (s ++ u) + c = sum_along f s + c + sum_along (below s f) u).
    rewrite sum_along_app; ring.
Qed.

Lemma response_gradient_sum_along n h z f c s a :
  (0 < n)%nat -> (length s < h)%nat ->
  gradient_over_responses n h z (fun y => sum_along f y + c) s a =
  probability n z s * (softmax n (z s) a * advantage_at n h z f s a).
Proof.
  intros some short; unfold gradient_over_responses.
  assert (forall b, sum_through n h z (fun y => sum_along f y + c) (s ++ [b]) =
                    probability n z s * softmax n (z s) b
                    * (sum_along f s + c + action_value n h z f s b)) as through.
  { intros b; rewrite sum_through_sum_along, probability_child, sum_along_app by assumption.
    unfold action_value, below; simpl; rewrite app_nil_r; ring. }
  rewrite through, (sum_ext n _ (fun b => probability n z s * (softmax n (z s) b
    * (sum_along f s + c + action_value n h z f s b)))) by (intros; rewrite through; ring).
  rewrite sum_scal; fold (mean n (softmax n (z s)) (fun b => sum_along f s + c + action_value n h z f s b)).
  rewrite (mean_plus n _ (fun _ => sum_along f s + c)), mean_const by (apply softmax_sum, some).
  unfold advantage_at; rewrite (value_at_state n z s h f short).
  fold (mean n (softmax n (z s)) (action_value n h z f s)); ring.
Qed.

(** E[sum_t u_t (f_t + what comes later)] is the value of u Q. *)
Lemma mean_sum_from_here_on n h : forall z u f,
  (0 < n)%nat ->
  mean_responses n h z (sum_from_here_on u f) =
  value n h z (fun s a => u s a * action_value n h z f s a).
Proof.
  induction h as [|k IH]; intros z u f some; [unfold mean_responses; simpl; ring|].
  rewrite mean_responses_first; cbn [value]; apply mean_ext; intros a _.
  rewrite (mean_responses_ext n k (after a z) _ (fun y =>
    (u [] a * f [] a + u [] a * sum_along (after a f) y)
    + sum_from_here_on (after a u) (after a f) y)).
  - rewrite mean_responses_plus, IH by assumption.
    rewrite (mean_responses_plus n k _ (fun _ => u [] a * f [] a)),
      (mean_responses_scal n k _ (u [] a) (sum_along (after a f))), mean_responses_const,
      <- value_responses by assumption.
    rewrite action_value_root.
    change (after a (fun s b => u s b * action_value n (S k) z f s b))
      with (fun s b => after a u s b * action_value n k (after a z) (after a f) s b).
    ring.
  - intros y _; change (sum_from_here_on u f (a :: y) =
      u [] a * f [] a + u [] a * sum_along (after a f) y + sum_from_here_on (after a u) (after a f) y).
    simpl; ring.
Qed.

(** * The entropy of responses *)

(** dH/dz(s, a) = d(s) pi(a|s) (-log pi(a|s) + H(sa) - H(s)). *)
Lemma is_derive_response_entropy_logit n h z s a :
  (0 < n)%nat -> state_of n h s -> (a < n)%nat ->
  is_derive (fun x => response_entropy n h (set_logit z s a x)) (z s a)
    (probability n z s * (softmax n (z s) a *
       advantage_at n h z (fun u b => - log_policy n z u b) s a)).
Proof.
  intros some inside a_inside; evar_last.
  - apply (is_derive_response_entropy n h (set_logit z s a) (one_logit s a) (z s a) some).
    intros; apply is_derive_set_logit.
  - rewrite set_logit_same, covariance_score_states, <- sum_states_opp by assumption.
    rewrite (sum_states_ext n h _ (fun u => probability n z u * mean n (softmax n (z u))
      (fun b => advantage_at n h z (fun u b => - log_policy n z u b) u b * one_logit s a u b))).
    + apply (sum_states_one_logit n h (probability n z) (fun u => softmax n (z u))); assumption.
    + intros u [short _].
      rewrite covariance_action_value by assumption.
      rewrite Ropp_mult_distr_r, <- mean_opp; f_equal; apply mean_ext; intros b _.
      unfold advantage_at, action_value; rewrite !value_at_opp; ring.
Qed.

(** * The regularized value *)

(** dV_lambda/dz(s, a) = d(s) pi(a|s) A_lambda(s, a): the change of -lambda log pi has mean zero. *)
Lemma is_derive_regularized_value_logit n h z reward lambda s a :
  (0 < n)%nat -> state_of n h s -> (a < n)%nat ->
  is_derive (fun x => value_with_entropy n h (set_logit z s a x) reward lambda) (z s a)
    (probability n z s * (softmax n (z s) a *
       advantage_at n h z (edge_with_entropy n h z reward lambda) s a)).
Proof.
  intros some inside a_inside; evar_last.
  - apply @is_derive_plus;
      [apply is_derive_expected_reward_logit; eassumption|].
    apply is_derive_scal, is_derive_response_entropy_logit; eassumption.
  - unfold plus; simpl; unfold advantage_at, action_value, edge_with_entropy.
    rewrite !value_at_opp, !value_at_regularized; ring.
Qed.

(** * The natural gradient *)

(** Fisher information of responses between two directions of the logits. *)
Definition fisher (n h : nat) (z : policy) (x w : state -> vector) : R :=
  mean_responses n h z (fun y =>
    sum_along (centered_policy n z x) y * sum_along (centered_policy n z w) y).

(** The advantage solves (Fisher) x = gradient: in every direction w both sides agree. *)
Lemma natural_gradient_advantage n h z reward w :
  (0 < n)%nat -> (0 < h)%nat ->
  is_derive (fun t => mean_responses n h (moved z t w) reward) 0
    (fisher n h z (advantage_at n h z (edge_reward h reward)) w).
Proof.
  intros some long; evar_last.
  - apply (is_derive_expected_reward n h (fun t => moved z t w) w 0 some); [|assumption].
    intros; apply is_derive_moved.
  - unfold fisher; rewrite fisher_information, moved_0 by assumption.
    apply sum_states_ext; intros s [short _]; f_equal.
    rewrite covariance_centered_l by (apply softmax_sum, some); apply mean_ext; intros a _.
    unfold centered; rewrite mean_advantage by assumption; ring.
Qed.

(** Any solution is the advantage up to a constant at each state, which softmax does not see. *)
Lemma natural_gradient_unique n h z reward x :
  (0 < n)%nat -> (0 < h)%nat ->
  (forall w, is_derive (fun t => mean_responses n h (moved z t w) reward) 0 (fisher n h z x w)) ->
  forall s a, state_of n h s -> (a < n)%nat ->
  centered_policy n z x s a = advantage_at n h z (edge_reward h reward) s a.
Proof.
  intros some long solves s a inside a_inside.
  assert (fisher n h z x (one_logit s a) =
          fisher n h z (advantage_at n h z (edge_reward h reward)) (one_logit s a)) as same.
  { rewrite <- (is_derive_unique _ _ _ (solves (one_logit s a))).
    apply is_derive_unique, natural_gradient_advantage; assumption. }
  assert (forall v, fisher n h z v (one_logit s a) =
    probability n z s * (softmax n (z s) a * centered_policy n z v s a)) as entry.
  { intros v; unfold fisher; rewrite fisher_information by assumption.
    rewrite <- (sum_states_one_logit n h (probability n z) (fun u => softmax n (z u))) by assumption.
    apply sum_states_ext; intros u _; f_equal.
    apply covariance_centered_l, softmax_sum, some. }
  rewrite !entry in same.
  pose proof (probability_pos n z s some); pose proof (softmax_pos n (z s) a some).
  apply Rmult_eq_reg_l in same; [|lra]; apply Rmult_eq_reg_l in same; [|lra].
  rewrite same; unfold centered_policy, centered.
  rewrite mean_advantage by (assumption || apply inside); ring.
Qed.
