(** Rates on token trees: how expectations over responses move along a path of logits.

    At time t the logits at state s are [z t s] and move with velocity [v s], which may be any function
    of states: tabular logits, or logits that share parameters. The score of a response is the sum of
    v - E v along it. The derivative of the expectation of f is its covariance with the score, plus the
    expectation of what f moves by itself ([is_derive_mean_responses]); for a sum along responses the
    covariance is a sum over states ([covariance_score_states]), which is the policy gradient theorem
    ([is_derive_value]) and the rate of the entropy of responses. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues.
Import ListNotations.
Open Scope R_scope.

(** * Sums with mean zero at every state *)

Lemma value_mean_zero n h : forall z u,
  (forall s, state_of n h s -> mean n (softmax n (z s)) (u s) = 0) -> value n h z u = 0.
Proof.
  induction h as [|k IH]; intros z u zero; simpl; [reflexivity|].
  rewrite (mean_ext n _ _ (u [])); [apply zero, state_of_nil|].
  intros a inside; rewrite IH; [ring|].
  intros s state; apply zero, state_of_cons; assumption.
Qed.

Lemma mean_centered_policy n z x s :
  (0 < n)%nat -> mean n (softmax n (z s)) (centered_policy n z x s) = 0.
Proof. intros some; apply mean_centered, softmax_sum, some. Qed.

Lemma mean_responses_score n h z x :
  (0 < n)%nat -> mean_responses n h z (sum_along (centered_policy n z x)) = 0.
Proof.
  intros some; rewrite <- value_responses by assumption; apply value_mean_zero.
  intros s _; apply mean_centered_policy, some.
Qed.

(** Of the product of two sums along a response, one of them with mean zero at every state, each state
    keeps its own term of that one times what is expected of the other from there on. *)
Lemma mean_responses_product n h : forall z f u c,
  (0 < n)%nat ->
  (forall s, state_of n h s -> mean n (softmax n (z s)) (u s) = 0) ->
  mean_responses n h z (fun y => (c + sum_along f y) * sum_along u y) =
  value n h z (fun s a => u s a * action_value n h z f s a).
Proof.
  induction h as [|k IH]; intros z f u c some zero; [unfold mean_responses; simpl; ring|].
  rewrite mean_responses_first; cbn [value].
  rewrite (mean_ext n _ _ (fun a => c * u [] a
    + (u [] a * action_value n (S k) z f [] a
       + value n k (after a z) (after a (fun s b => u s b * action_value n (S k) z f s b))))).
  - rewrite mean_plus, mean_scal, zero, Rmult_0_r, Rplus_0_l by apply state_of_nil; reflexivity.
  - intros a inside.
    set (here := c + f [] a).
    rewrite (mean_responses_ext n k (after a z) _ (fun y =>
      u [] a * (here + sum_along (after a f) y)
      + (here + sum_along (after a f) y) * sum_along (after a u) y)).
    2: { intros y _; unfold after at 1; simpl; fold (after a f) (after a u); unfold here; ring. }
    rewrite mean_responses_plus, mean_responses_scal, (mean_responses_plus n k _ (fun _ => here)).
    rewrite mean_responses_const, <- value_responses by assumption.
    rewrite (IH (after a z) (after a f) (after a u) here some).
    + rewrite action_value_root; unfold here.
      change (after a (fun s b => u s b * action_value n (S k) z f s b))
        with (fun s b => after a u s b * action_value n k (after a z) (after a f) s b).
      ring.
    + intros s state; apply zero, state_of_cons; assumption.
Qed.

(** The covariance with a score, state by state. *)
Lemma covariance_score_value n h z f x :
  (0 < n)%nat ->
  covariance_responses n h z (sum_along f) (sum_along (centered_policy n z x)) =
  value n h z (fun s a => centered_policy n z x s a * action_value n h z f s a).
Proof.
  intros some; rewrite covariance_responses_eq, mean_responses_score by assumption.
  rewrite <- (mean_responses_product n h z f (centered_policy n z x) 0 some).
  - rewrite Rmult_0_r, Rminus_0_r; apply mean_responses_ext; intros; ring.
  - intros s _; apply mean_centered_policy, some.
Qed.

Lemma covariance_score_states n h z f x :
  (0 < n)%nat ->
  covariance_responses n h z (sum_along f) (sum_along (centered_policy n z x)) =
  sum_states n h (fun s =>
    probability n z s * covariance n (softmax n (z s)) (action_value n h z f s) (x s)).
Proof.
  intros some; rewrite covariance_score_value, value_states by assumption.
  apply sum_states_ext; intros s _; f_equal.
  rewrite covariance_sym, covariance_centered_l by (apply softmax_sum, some); reflexivity.
Qed.

(** The Fisher information of responses: its blocks are d(s) Cov_s, and no two states meet. *)
Lemma fisher_information n h z x w :
  (0 < n)%nat ->
  mean_responses n h z (fun y =>
    sum_along (centered_policy n z x) y * sum_along (centered_policy n z w) y) =
  sum_states n h (fun s => probability n z s * covariance n (softmax n (z s)) (x s) (w s)).
Proof.
  intros some.
  rewrite (mean_responses_ext n h z _ (fun y =>
    (0 + sum_along (centered_policy n z x) y) * sum_along (centered_policy n z w) y))
    by (intros; ring).
  rewrite (mean_responses_product n h z) by (intros; try apply mean_centered_policy; assumption).
  rewrite value_states by assumption; apply sum_states_ext; intros s state; f_equal.
  apply mean_ext; intros a inside; unfold action_value; rewrite value_at_below, value_mean_zero.
  - unfold centered_policy; ring.
  - intros u _; apply (mean_centered_policy n z x), some.
Qed.

(** * Along a path of logits *)

Lemma sum_along_centered_after n a z x y :
  sum_along (after a (centered_policy n z x)) y =
  sum_along (centered_policy n (after a z) (after a x)) y.
Proof. reflexivity. Qed.

(** The log-probability of a response moves by its score. *)
Lemma is_derive_ln_probability n t : forall y h (z : R -> policy) (v : state -> vector),
  (0 < n)%nat ->
  (forall s a, state_of n h s -> (a < n)%nat -> is_derive (fun r => z r s a) t (v s a)) ->
  (length y <= h)%nat -> tokens_below n y ->
  is_derive (fun r => ln (probability n (z r) y)) t (sum_along (centered_policy n (z t) v) y).
Proof.
  intros y h z v some moves short below_n.
  apply is_derive_ext with (f := fun r => sum_along (log_policy n (z r)) y).
  { intros r; symmetry; apply ln_probability, some. }
  revert h z v moves short; induction y as [|a rest IH]; intros h z v moves short; simpl.
  - apply @is_derive_const.
  - destruct h as [|k]; simpl in short; [lia|]; inversion below_n; subst.
    apply @is_derive_plus with (f := fun r => log_policy n (z r) [] a)
      (g := fun r => sum_along (after a (log_policy n (z r))) rest).
    + unfold log_policy, centered_policy.
      apply (is_derive_log_softmax n (fun r => z r []) (v [])); [assumption| |assumption].
      intros b inside; apply moves; [apply state_of_nil|assumption].
    + apply (IH ltac:(assumption) k (fun r => after a (z r)) (after a v)); [|lia].
      intros s b state inside; apply moves; [apply state_of_cons|]; assumption.
Qed.

Section Path.

Variables (n h : nat) (z : R -> policy) (v : state -> vector) (t : R).
Hypothesis some : (0 < n)%nat.
Hypothesis moves : forall s a, state_of n h s -> (a < n)%nat -> is_derive (fun r => z r s a) t (v s a).

Notation score := (sum_along (centered_policy n (z t) v)).

Lemma is_derive_probability y :
  (length y <= h)%nat -> tokens_below n y ->
  is_derive (fun r => probability n (z r) y) t (probability n (z t) y * score y).
Proof.
  intros short below_n.
  apply is_derive_ext with (f := fun r => exp (ln (probability n (z r) y))).
  { intros r; apply exp_ln, probability_pos, some. }
  evar_last.
  - apply (is_derive_comp exp); [apply is_derive_exp|].
    apply (is_derive_ln_probability n t y h z v); assumption.
  - unfold scal; simpl; unfold mult; simpl.
    rewrite exp_ln by (apply probability_pos, some); ring.
Qed.

(** D E_y[f] = Cov_y(f, score) + E_y[D f]. *)
Lemma is_derive_mean_responses (f : R -> state -> R) (g : state -> R) :
  (forall y, response_of n h y -> is_derive (fun r => f r y) t (g y)) ->
  is_derive (fun r => mean_responses n h (z r) (f r)) t
    (covariance_responses n h (z t) (f t) score + mean_responses n h (z t) g).
Proof.
  intros each; evar_last.
  - apply (is_derive_sum_responses n h t (fun r y => probability n (z r) y * f r y)
             (fun y => probability n (z t) y * score y * f t y + probability n (z t) y * g y)).
    intros y response; evar_last.
    + apply @is_derive_mult;
        [|apply each, response|intros; apply Rmult_comm].
      destruct response as [long below_n]; apply is_derive_probability; [lia|assumption].
    + unfold plus, mult; simpl; ring.
  - rewrite covariance_responses_eq, mean_responses_score by assumption.
    unfold mean_responses; rewrite sum_responses_plus, Rmult_0_r, Rminus_0_r; f_equal.
    apply sum_responses_ext; intros; ring.
Qed.

(** The entropy of responses moves by minus the covariance of log pi(y) with its own change. *)
Lemma is_derive_response_entropy :
  is_derive (fun r => response_entropy n h (z r)) t
    (- covariance_responses n h (z t) (sum_along (log_policy n (z t))) score).
Proof.
  apply is_derive_ext with
    (f := fun r => - mean_responses n h (z r) (fun y => ln (probability n (z r) y))).
  { intros r; reflexivity. }
  evar_last.
  - apply @is_derive_opp, (is_derive_mean_responses (fun r y => ln (probability n (z r) y)) score).
    intros y [long below_n]; apply (is_derive_ln_probability n t y h z v); try assumption; lia.
  - rewrite mean_responses_score by assumption; unfold opp; simpl.
    rewrite (covariance_responses_ext n h (z t) _ score (sum_along (log_policy n (z t))) score).
    + ring.
    + intros y _; apply ln_probability, some.
    + reflexivity.
Qed.

Lemma is_derive_sum_along (e : R -> state -> vector) (e' : state -> vector) y :
  (forall s a, state_of n h s -> (a < n)%nat -> is_derive (fun r => e r s a) t (e' s a)) ->
  (length y <= h)%nat -> tokens_below n y ->
  is_derive (fun r => sum_along (e r) y) t (sum_along e' y).
Proof.
  clear moves; revert h e e'; induction y as [|a rest IH]; intros k e e' each short below_n; simpl.
  - apply @is_derive_const.
  - destruct k as [|k]; simpl in short; [lia|]; inversion below_n; subst.
    apply @is_derive_plus with (f := fun r => e r [] a) (g := fun r => sum_along (after a (e r)) rest).
    + apply each; [apply state_of_nil|assumption].
    + apply (IH k (fun r => after a (e r)) (after a e')); [|lia|assumption].
      intros s b state inside; apply each; [apply state_of_cons|]; assumption.
Qed.

(** The policy gradient theorem on trees, with edges that may move themselves:
    V' = sum_s d(s) (Cov_s(Q, v) + E_s[e']). *)
Lemma is_derive_value (e : R -> state -> vector) (e' : state -> vector) :
  (forall s a, state_of n h s -> (a < n)%nat -> is_derive (fun r => e r s a) t (e' s a)) ->
  is_derive (fun r => value n h (z r) (e r)) t
    (sum_states n h (fun s => probability n (z t) s *
       (covariance n (softmax n (z t s)) (action_value n h (z t) (e t) s) (v s)
        + mean n (softmax n (z t s)) (e' s)))).
Proof.
  intros each.
  apply is_derive_ext with (f := fun r => mean_responses n h (z r) (sum_along (e r))).
  { intros r; symmetry; apply value_responses, some. }
  evar_last.
  - apply (is_derive_mean_responses (fun r => sum_along (e r)) (sum_along e')).
    intros y [long below_n]; apply is_derive_sum_along; [assumption|lia|assumption].
  - rewrite covariance_score_states, <- value_responses, value_states by assumption.
    rewrite <- sum_states_plus; apply sum_states_ext; intros; ring.
Qed.

(** With edges that do not move: V' = sum_s d(s) E_s[A v]. *)
Lemma is_derive_value_advantage (e : state -> vector) :
  is_derive (fun r => value n h (z r) e) t
    (sum_states n h (fun s => probability n (z t) s *
       mean n (softmax n (z t s)) (fun a => advantage_at n h (z t) e s a * v s a))).
Proof.
  evar_last; [apply (is_derive_value (fun _ => e) (fun _ _ => 0))|].
  - intros; apply @is_derive_const.
  - apply sum_states_ext; intros s [short _].
    rewrite covariance_action_value by assumption.
    unfold mean at 2; rewrite (sum_ext n _ (fun _ => 0)), sum_zero by (intros; ring); ring.
Qed.

(** The expected reward of responses moves by sum_s d(s) E_s[A v]. *)
Lemma is_derive_expected_reward reward :
  (0 < h)%nat ->
  is_derive (fun r => mean_responses n h (z r) reward) t
    (sum_states n h (fun s => probability n (z t) s *
       mean n (softmax n (z t s)) (fun a => advantage_at n h (z t) (edge_reward h reward) s a * v s a))).
Proof.
  intros long.
  apply is_derive_ext with (f := fun r => value n h (z r) (edge_reward h reward)).
  { intros r; apply value_edge_reward; assumption. }
  apply is_derive_value_advantage.
Qed.

End Path.

(** * The entropy of responses, state by state *)

Lemma action_value_log_policy n h z s a :
  action_value n h z (log_policy n z) s a = log_policy n z s a - entropy_to_come n h z s a.
Proof. unfold entropy_to_come; rewrite value_at_opp; unfold action_value; ring. Qed.

(** Cov_y(log pi(y), score) = sum_s d(s) Cov_s(log pi - H(sa), x). *)
Lemma covariance_log_policy_states n h z x :
  (0 < n)%nat ->
  covariance_responses n h z (sum_along (log_policy n z)) (sum_along (centered_policy n z x)) =
  sum_states n h (fun s => probability n z s *
    covariance n (softmax n (z s))
      (fun a => log_softmax n (z s) a - entropy_to_come n h z s a) (x s)).
Proof.
  intros some; rewrite covariance_score_states by assumption.
  apply sum_states_ext; intros s _; f_equal.
  apply covariance_ext; [|reflexivity]; intros a _; apply action_value_log_policy.
Qed.

Lemma covariance_minus_l n p f g x :
  sum n p = 1 ->
  covariance n p (fun a => f a - g a) x = covariance n p f x - covariance n p g x.
Proof.
  intros one; rewrite !covariance_eq by assumption.
  rewrite (mean_ext n p (fun a => (f a - g a) * x a) (fun a => f a * x a - g a * x a))
    by (intros; ring).
  rewrite !mean_minus; ring.
Qed.

Lemma is_derive_response_entropy_states n h (z : R -> policy) (v : state -> vector) t :
  (0 < n)%nat ->
  (forall s a, state_of n h s -> (a < n)%nat -> is_derive (fun r => z r s a) t (v s a)) ->
  is_derive (fun r => response_entropy n h (z r)) t
    (sum_states n h (fun s => probability n (z t) s *
       (- covariance n (softmax n (z t s)) (log_softmax n (z t s)) (v s)
        + covariance n (softmax n (z t s)) (entropy_to_come n h (z t) s) (v s)))).
Proof.
  intros some moves; evar_last; [apply (is_derive_response_entropy n h z v t some moves)|].
  rewrite covariance_log_policy_states, <- sum_states_opp by assumption.
  apply sum_states_ext; intros s _.
  rewrite covariance_minus_l by (apply softmax_sum, some); ring.
Qed.

Lemma is_derive_moved z x t s a : is_derive (fun r => moved z r x s a) t (x s a).
Proof. unfold moved; auto_derive; [trivial|ring]. Qed.

