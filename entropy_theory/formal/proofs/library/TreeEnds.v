(** Trees of any shape: responses of several lengths, for example those that end with an end token.

    A tree in which responses end is read off the complete one: let the policy go on after the end, and
    cut every response of h tokens at its end ([cut]). What happens after the end changes nothing, so
    that every identity of complete trees holds with edges that are zero once a response has ended. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

(** * Responses that end at [ends s a], or after h tokens *)

Fixpoint sum_ended (n h : nat) (ends : state -> mask) (f : state -> R) : R :=
  match h with
  | O => f []
  | S k => sum n (fun a => if ends [] a then f [a] else sum_ended n k (after a ends) (after a f))
  end.
Definition mean_ended (n h : nat) (ends : state -> mask) (z : policy) (f : state -> R) : R :=
  sum_ended n h ends (fun y => probability n z y * f y).
Definition covariance_ended (n h : nat) (ends : state -> mask) (z : policy) (f g : state -> R) : R :=
  mean_ended n h ends z (fun y =>
    (f y - mean_ended n h ends z f) * (g y - mean_ended n h ends z g)).
Definition ended_entropy (n h : nat) (ends : state -> mask) (z : policy) : R :=
  - sum_ended n h ends (fun y => probability n z y * ln (probability n z y)).
(** Numbers of states and tokens, zero where the response has ended. *)
Definition until_end (ends : state -> mask) (f : state -> vector) : state -> vector :=
  fun s a => if running ends s then f s a else 0.

(** A response up to its end. *)
Fixpoint cut (ends : state -> mask) (y : state) : state :=
  match y with
  | [] => []
  | a :: rest => if ends [] a then [a] else a :: cut (after a ends) rest
  end.

Lemma cut_running ends s a : cut ends (a :: s) = if ends [] a then [a] else a :: cut (after a ends) s.
Proof. reflexivity. Qed.

Lemma cut_ended ends : forall s u, running ends s = false -> cut ends (s ++ u) = cut ends s.
Proof.
  intros s; revert ends; induction s as [|a rest IH]; intros ends u ended; [discriminate|].
  simpl in *; destruct (ends [] a); [reflexivity|]; f_equal; apply IH, ended.
Qed.

Lemma cut_response n h ends : forall y, response_of n h y ->
  (length (cut ends y) <= h)%nat /\ tokens_below n (cut ends y).
Proof.
  revert ends; induction h as [|k IH]; intros ends [|a rest] [long below_n]; try discriminate.
  - simpl; split; [lia|constructor].
  - inversion below_n; subst; simpl in long; injection long as long; simpl.
    destruct (ends [] a).
    + simpl; split; [lia|]; constructor; [assumption|constructor].
    + destruct (IH (after a ends) rest) as [short below_rest]; [split; assumption|].
      simpl; split; [lia|]; constructor; assumption.
Qed.

(** Sums over ended responses see them only. *)
Lemma sum_ended_ext n h : forall ends f g,
  (forall y, response_of n h y -> f (cut ends y) = g (cut ends y)) ->
  sum_ended n h ends f = sum_ended n h ends g.
Proof.
  induction h as [|k IH]; intros ends f g same; simpl.
  - apply (same []); split; [reflexivity|constructor].
  - apply sum_ext; intros a inside; destruct (ends [] a) eqn:last.
    + assert (response_of n (S k) (a :: repeat a k)) as response.
      { split; simpl; [rewrite repeat_length; reflexivity|].
        constructor; [assumption|]; apply List.Forall_forall; intros b in_list.
        rewrite (repeat_spec _ _ _ in_list); assumption. }
      specialize (same _ response); simpl in same; rewrite last in same; exact same.
    + apply IH; intros y response.
      specialize (same (a :: y) (response_of_cons n k a y inside response)); simpl in same.
      rewrite last in same; exact same.
Qed.

(** The expectation over ended responses is that over complete ones, cut at their end. *)
Lemma mean_ended_cut n h : forall ends z f,
  (0 < n)%nat -> mean_ended n h ends z f = mean_responses n h z (fun y => f (cut ends y)).
Proof.
  unfold mean_ended; induction h as [|k IH]; intros ends z f some; [reflexivity|].
  rewrite mean_responses_first; unfold mean; simpl; apply sum_ext; intros a _.
  destruct (ends [] a) eqn:last.
  - rewrite (mean_responses_ext n k _ _ (fun _ => f [a])), mean_responses_const by
      (assumption || (intros; unfold after; simpl; rewrite last; reflexivity)); simpl; ring.
  - rewrite (mean_responses_ext n k _ _ (fun y => after a f (cut (after a ends) y))) by
      (intros; unfold after at 1; simpl; rewrite last; reflexivity).
    rewrite <- IH by assumption.
    assert (forall m e g c, c * sum_ended n m e g = sum_ended n m e (fun y => c * g y)) as scale.
    { induction m as [|m scale]; intros e g c; simpl; [reflexivity|].
      rewrite <- sum_scal; apply sum_ext; intros b _; destruct (e [] b); [reflexivity|].
      apply (scale (after b e) (after b g) c). }
    rewrite scale; apply sum_ended_ext; intros y _; unfold after; simpl; unfold after; ring.
Qed.

Lemma mean_ended_ext n h ends z f g :
  (forall y, response_of n h y -> f (cut ends y) = g (cut ends y)) ->
  mean_ended n h ends z f = mean_ended n h ends z g.
Proof. intros same; apply sum_ended_ext; intros y response; rewrite same by assumption; reflexivity. Qed.

Lemma covariance_ended_cut n h ends z f g :
  (0 < n)%nat ->
  covariance_ended n h ends z f g =
  covariance_responses n h z (fun y => f (cut ends y)) (fun y => g (cut ends y)).
Proof. intros some; unfold covariance_ended; rewrite !mean_ended_cut by assumption; reflexivity. Qed.

Lemma sum_along_zero y : sum_along (fun _ _ => 0) y = 0.
Proof. induction y as [|a rest IH]; simpl; [reflexivity|]; unfold after; rewrite IH; ring. Qed.

Lemma sum_along_cut f ends y : sum_along f (cut ends y) = sum_along (until_end ends f) y.
Proof.
  revert f ends; induction y as [|a rest IH]; intros f ends; [reflexivity|]; simpl.
  unfold until_end at 1; simpl.
  destruct (ends [] a) eqn:last; simpl; f_equal.
  - rewrite <- (sum_along_zero rest); f_equal.
    apply functional_extensionality; intros s; apply functional_extensionality; intros b.
    unfold after, until_end; simpl; rewrite last; reflexivity.
  - rewrite IH; f_equal.
    apply functional_extensionality; intros s; apply functional_extensionality; intros b.
    unfold until_end, after; simpl; rewrite last; reflexivity.
Qed.

(** Policies that agree where tokens are chosen have the same probabilities. *)
Lemma probability_cut_ext n ends z z' y :
  (forall s, running ends s = true -> z s = z' s) ->
  probability n z (cut ends y) = probability n z' (cut ends y).
Proof.
  revert ends z z'; induction y as [|a rest IH]; intros ends z z' same; [reflexivity|]; simpl.
  destruct (ends [] a) eqn:last; simpl; rewrite (same []) by reflexivity; [reflexivity|]; f_equal.
  apply IH; intros s alive; apply same; simpl; rewrite last; exact alive.
Qed.

Lemma ended_entropy_policy_ext n h ends z z' :
  (forall s, running ends s = true -> z s = z' s) ->
  ended_entropy n h ends z = ended_entropy n h ends z'.
Proof.
  intros same; unfold ended_entropy; f_equal; apply sum_ended_ext; intros y _.
  rewrite (probability_cut_ext n ends z z' y same); reflexivity.
Qed.

Lemma ended_entropy_mean n h ends z :
  (0 < n)%nat ->
  ended_entropy n h ends z =
  - mean_responses n h z (fun y => ln (probability n z (cut ends y))).
Proof.
  intros some; unfold ended_entropy; f_equal.
  apply (mean_ended_cut n h ends z (fun y => ln (probability n z y)) some).
Qed.

Lemma ln_probability_cut n ends z y :
  (0 < n)%nat ->
  ln (probability n z (cut ends y)) = sum_along (until_end ends (log_policy n z)) y.
Proof. intros some; rewrite ln_probability, sum_along_cut by assumption; reflexivity. Qed.

Lemma until_end_running ends f s a : running ends s = true -> until_end ends f s a = f s a.
Proof. intros alive; unfold until_end; rewrite alive; reflexivity. Qed.

Lemma running_app ends s u : running ends s = false -> running ends (s ++ u) = false.
Proof.
  revert ends; induction s as [|a rest IH]; intros ends ended; [discriminate|]; simpl in *.
  destruct (ends [] a); [reflexivity|]; simpl in *; apply IH, ended.
Qed.

Lemma value_at_ended n h z ends f s :
  (0 < n)%nat -> running ends s = false -> value_at n h z (until_end ends f) s = 0.
Proof.
  intros some ended; rewrite value_at_below; apply value_mean_zero; intros u _.
  rewrite (mean_ext n _ _ (fun _ => 0)); [apply mean_const, softmax_sum, some|].
  intros a _; unfold below, until_end; rewrite running_app by assumption; reflexivity.
Qed.

Lemma action_value_ended n h z ends f s a :
  (0 < n)%nat -> running ends s = false -> action_value n h z (until_end ends f) s a = 0.
Proof.
  intros some ended; unfold action_value; rewrite value_at_ended by (try apply running_app; assumption).
  unfold until_end; rewrite ended; ring.
Qed.

(** * Rates *)

Section Path.

Variables (n h : nat) (ends : state -> mask) (z : R -> policy) (v : state -> vector) (t : R).
Hypothesis some : (0 < n)%nat.
Hypothesis moves : forall s a, state_of n h s -> (a < n)%nat -> is_derive (fun r => z r s a) t (v s a).

Let score := sum_along (centered_policy n (z t) v).

Lemma mean_ended_score : mean_ended n h ends (z t) score = 0.
Proof.
  rewrite mean_ended_cut by assumption.
  rewrite (mean_responses_ext n h _ _ (sum_along (until_end ends (centered_policy n (z t) v))))
    by (intros; apply sum_along_cut).
  rewrite <- value_responses by assumption; apply value_mean_zero; intros s _; unfold until_end.
  destruct (running ends s); [apply mean_centered_policy, some|].
  apply mean_const, softmax_sum, some.
Qed.

(** A covariance over ended responses, state by state. *)
Lemma covariance_ended_score f :
  covariance_ended n h ends (z t) (sum_along f) score =
  sum_states n h (fun s => if running ends s then probability n (z t) s *
    covariance n (softmax n (z t s)) (action_value n h (z t) (until_end ends f) s) (v s) else 0).
Proof.
  pose proof mean_ended_score as zero; rewrite mean_ended_cut in zero by assumption.
  rewrite covariance_ended_cut, covariance_responses_eq, zero by assumption.
  rewrite Rmult_0_r, Rminus_0_r.
  rewrite (mean_responses_ext n h (z t) _ (fun y => (0 + sum_along (until_end ends f) y) *
    sum_along (until_end ends (centered_policy n (z t) v)) y)).
  - rewrite mean_responses_product; [|assumption|].
    + rewrite value_states by assumption; apply sum_states_ext; intros s _.
      unfold until_end at 1; destruct (running ends s).
      * f_equal; rewrite covariance_sym, covariance_centered_l by (apply softmax_sum, some).
        reflexivity.
      * rewrite (mean_ext n _ _ (fun _ => 0)) by (intros; ring).
        rewrite mean_const by (apply softmax_sum, some); ring.
    + intros s _; unfold until_end.
      destruct (running ends s); [apply mean_centered_policy, some|].
      apply mean_const, softmax_sum, some.
  - intros y _; unfold score; rewrite !sum_along_cut; ring.
Qed.

Lemma is_derive_ln_probability_cut y :
  response_of n h y ->
  is_derive (fun r => ln (probability n (z r) (cut ends y))) t (score (cut ends y)).
Proof.
  intros response; destruct (cut_response n h ends y response).
  apply (is_derive_ln_probability n t (cut ends y) h z v); assumption.
Qed.

Lemma is_derive_ended_entropy_everywhere :
  is_derive (fun r => ended_entropy n h ends (z r)) t
    (- covariance_ended n h ends (z t) (fun y => ln (probability n (z t) y)) score).
Proof.
  apply is_derive_ext with
    (f := fun r => - mean_responses n h (z r) (fun y => ln (probability n (z r) (cut ends y)))).
  { intros r; symmetry; apply ended_entropy_mean, some. }
  pose proof mean_ended_score as zero; rewrite mean_ended_cut in zero by assumption.
  evar_last.
  - apply @is_derive_opp, (is_derive_mean_responses n h z v t some moves
      (fun r y => ln (probability n (z r) (cut ends y))) (fun y => score (cut ends y))).
    intros y response; apply is_derive_ln_probability_cut, response.
  - rewrite zero, covariance_ended_cut, Rplus_0_r by assumption; unfold opp; simpl; f_equal.
    set (ln_p := fun y => ln (probability n (z t) (cut ends y))).
    assert (mean_responses n h (z t) (fun y => ln_p y * sum_along (centered_policy n (z t) v) y) =
            mean_responses n h (z t) (fun y => ln_p y * score (cut ends y))) as only_until_end.
    { rewrite (mean_responses_ext n h (z t) (fun y => ln_p y * sum_along (centered_policy n (z t) v) y)
        (fun y => (0 + sum_along (until_end ends (log_policy n (z t))) y)
                  * sum_along (centered_policy n (z t) v) y))
        by (intros; unfold ln_p; rewrite ln_probability_cut by assumption; ring).
      rewrite (mean_responses_ext n h (z t) (fun y => ln_p y * score (cut ends y))
        (fun y => (0 + sum_along (until_end ends (log_policy n (z t))) y)
                  * sum_along (until_end ends (centered_policy n (z t) v)) y))
        by (intros; unfold ln_p, score; rewrite ln_probability_cut, sum_along_cut by assumption; ring).
      rewrite !mean_responses_product; try assumption.
      - rewrite !value_states by assumption; apply sum_states_ext; intros s [short _]; f_equal.
        apply mean_ext; intros a _; destruct (running ends s) eqn:alive.
        + rewrite (until_end_running ends (centered_policy n (z t) v)) by assumption; reflexivity.
        + rewrite action_value_ended by assumption; ring.
      - intros s _; unfold until_end; destruct (running ends s); [apply mean_centered_policy, some|].
        apply mean_const, softmax_sum, some.
      - intros s _; apply mean_centered_policy, some. }
    rewrite !covariance_responses_eq, zero, mean_responses_score by assumption.
    rewrite only_until_end; reflexivity.
Qed.

End Path.

(** * Where a response has ended, logits may do anything *)

Section Running.

Variables (n h : nat) (ends : state -> mask) (z : R -> policy) (v : state -> vector) (t : R).
Hypothesis some : (0 < n)%nat.
Hypothesis moves : forall s a, state_of n h s -> running ends s = true -> (a < n)%nat ->
  is_derive (fun r => z r s a) t (v s a).

Let stopped_path r : policy := fun s => if running ends s then z r s else z t s.
Let stopped_velocity : state -> vector := fun s a => if running ends s then v s a else 0.

Let stopped_moves s a :
  state_of n h s -> (a < n)%nat -> is_derive (fun r => stopped_path r s a) t (stopped_velocity s a).
Proof.
  intros inside a_inside; unfold stopped_path, stopped_velocity.
  destruct (running ends s) eqn:alive; [apply moves; assumption|apply @is_derive_const].
Qed.

Let stopped_now : stopped_path t = z t.
Proof.
  apply functional_extensionality; intros s; unfold stopped_path; destruct (running ends s); reflexivity.
Qed.

Lemma score_until_end y :
  sum_along (centered_policy n (z t) stopped_velocity) (cut ends y) =
  sum_along (centered_policy n (z t) v) (cut ends y).
Proof.
  rewrite !sum_along_cut; f_equal.
  apply functional_extensionality; intros s; apply functional_extensionality; intros a.
  unfold until_end, centered_policy, stopped_velocity; destruct (running ends s); reflexivity.
Qed.

Lemma is_derive_ln_probability_ended y :
  response_of n h y ->
  is_derive (fun r => ln (probability n (z r) (cut ends y))) t
    (sum_along (centered_policy n (z t) v) (cut ends y)).
Proof.
  intros response; rewrite <- score_until_end.
  apply is_derive_ext with (f := fun r => ln (probability n (stopped_path r) (cut ends y))).
  { intros r; f_equal; apply probability_cut_ext; intros s alive.
    unfold stopped_path; rewrite alive; reflexivity. }
  rewrite <- stopped_now.
  apply (is_derive_ln_probability_cut n h ends stopped_path stopped_velocity t some stopped_moves y response).
Qed.

(** The entropy of responses of any lengths moves by -Cov_y(log pi(y), d log pi(y)). *)
Lemma is_derive_ended_entropy :
  is_derive (fun r => ended_entropy n h ends (z r)) t
    (- covariance_ended n h ends (z t) (fun y => ln (probability n (z t) y))
         (sum_along (centered_policy n (z t) v))).
Proof.
  apply is_derive_ext with (f := fun r => ended_entropy n h ends (stopped_path r)).
  { intros r; apply ended_entropy_policy_ext; intros s alive.
    unfold stopped_path; rewrite alive; reflexivity. }
  evar_last;
    [apply (is_derive_ended_entropy_everywhere n h ends stopped_path stopped_velocity t some stopped_moves)|].
  rewrite stopped_now, !covariance_ended_cut by assumption; f_equal.
  apply covariance_responses_ext; intros y _; [reflexivity|apply score_until_end].
Qed.

End Running.

(** State by state: sum_s d(s) {-Cov_s(log pi, v) + Cov_s(H(sa), v)} over the states where a token is
    chosen. *)
Definition ended_entropy_to_go (n h : nat) (ends : state -> mask) (z : policy) : state -> vector :=
  fun s a => value_at n h z (until_end ends (fun u b => - log_policy n z u b)) (s ++ [a]).

Lemma covariance_ended_log_policy n h ends z x :
  (0 < n)%nat ->
  covariance_ended n h ends z (fun y => ln (probability n z y)) (sum_along (centered_policy n z x)) =
  sum_states n h (fun s => if running ends s then probability n z s *
    (covariance n (softmax n (z s)) (log_softmax n (z s)) (x s)
     - covariance n (softmax n (z s)) (ended_entropy_to_go n h ends z s) (x s)) else 0).
Proof.
  intros some.
  transitivity (covariance_ended n h ends z (sum_along (log_policy n z)) (sum_along (centered_policy n z x))).
  - rewrite !covariance_ended_cut by assumption; apply covariance_responses_ext; intros y _; [|reflexivity].
    apply ln_probability, some.
  - rewrite (covariance_ended_score n h ends (fun _ => z) x 0 some).
    apply sum_states_ext; intros s _; destruct (running ends s) eqn:alive; [|reflexivity]; f_equal.
    rewrite <- covariance_minus_l by (apply softmax_sum, some).
    apply covariance_ext; [|reflexivity]; intros a _; unfold action_value.
    rewrite until_end_running by assumption; unfold log_policy at 1, ended_entropy_to_go.
    replace (until_end ends (fun u b => - log_policy n z u b))
      with (fun u b => - until_end ends (log_policy n z) u b); [rewrite value_at_opp; ring|].
    apply functional_extensionality; intros u; apply functional_extensionality; intros b.
    unfold until_end; destruct (running ends u); ring.
Qed.

(** * Rewards of ended responses *)

(** Where the response has ended there is nothing left to gain. *)
Lemma advantage_ended n h ends z reward s a :
  (0 < n)%nat -> (length s < h)%nat -> running ends s = false ->
  advantage_at n h z (edge_reward h (fun y => reward (cut ends y))) s a = 0.
Proof.
  intros some short ended; set (f := fun y => reward (cut ends y)).
  assert (forall u, running ends u = false ->
            sum_through n h z f u = probability n z u * reward (cut ends u)) as constant.
  { intros u u_ended; rewrite sum_through_mean; f_equal.
    rewrite <- (mean_responses_const n (h - length u) (below u z) (reward (cut ends u)) some).
    apply mean_responses_ext; intros w _; unfold below, f; rewrite cut_ended by assumption; reflexivity. }
  pose proof (probability_pos n z s some) as visited; pose proof (softmax_pos n (z s) a some) as chosen.
  assert (value_at n h z (edge_reward h f) s = reward (cut ends s)) as value_s.
  { apply Rmult_eq_reg_l with (probability n z s); [|lra].
    rewrite <- sum_through_value by assumption; apply constant, ended. }
  assert (action_value n h z (edge_reward h f) s a = reward (cut ends s)) as value_a.
  { apply Rmult_eq_reg_l with (probability n z s * softmax n (z s) a);
      [|apply Rgt_not_eq, Rmult_lt_0_compat; assumption].
    rewrite <- sum_through_action_value, constant by (try apply running_app; assumption).
    rewrite probability_child, cut_ended by assumption; ring. }
  unfold advantage_at; fold f; rewrite value_s, value_a; ring.
Qed.

(** The advantages of an ended response add to its reward minus the expected one. *)
Lemma sum_along_advantage_ended n h ends z reward y :
  (0 < n)%nat -> (0 < h)%nat -> response_of n h y ->
  let A := advantage_at n h z (edge_reward h (fun x => reward (cut ends x))) in
  sum_along (centered_policy n z A) (cut ends y) =
  reward (cut ends y) - mean_ended n h ends z reward.
Proof.
  intros some long response A; rewrite mean_ended_cut, sum_along_cut by assumption.
  destruct response as [length_y below_n].
  rewrite (sum_along_ext n h _ A); [|intros s a [short _] _|lia|assumption].
  2: { unfold until_end; destruct (running ends s) eqn:alive.
       - unfold centered_policy, centered, A; rewrite mean_advantage by assumption; ring.
       - unfold A; rewrite advantage_ended by assumption; reflexivity. }
  unfold A; rewrite sum_along_advantage, value_edge_reward by assumption; f_equal.
  pose proof (sum_along_edge_reward y (fun x => reward (cut ends x))) as last.
  rewrite length_y in last; apply last; assumption.
Qed.

(** The Fisher information of ended responses has the states at which a token is chosen. *)
Lemma fisher_ended n h ends z x w :
  (0 < n)%nat ->
  mean_ended n h ends z (fun y =>
    sum_along (centered_policy n z x) y * sum_along (centered_policy n z w) y) =
  sum_states n h (fun s => if running ends s
    then probability n z s * covariance n (softmax n (z s)) (x s) (w s) else 0).
Proof.
  intros some; rewrite mean_ended_cut by assumption.
  assert (forall v s, mean n (softmax n (z s)) (until_end ends (centered_policy n z v) s) = 0) as zero.
  { intros v s; unfold until_end; destruct (running ends s); [apply mean_centered_policy, some|].
    apply mean_const, softmax_sum, some. }
  rewrite (mean_responses_ext n h z _ (fun y =>
    (0 + sum_along (until_end ends (centered_policy n z x)) y)
    * sum_along (until_end ends (centered_policy n z w)) y))
    by (intros; rewrite !sum_along_cut; ring).
  rewrite mean_responses_product, value_states by (intros; try apply zero; assumption).
  apply sum_states_ext; intros s _; unfold action_value.
  rewrite (mean_ext n _ _ (fun a =>
    until_end ends (centered_policy n z w) s a * until_end ends (centered_policy n z x) s a)).
  - unfold until_end; destruct (running ends s).
    + rewrite covariance_sym; reflexivity.
    + rewrite (mean_ext n _ _ (fun _ => 0)), mean_const by ((apply softmax_sum, some) || (intros; ring)).
      ring.
  - intros a _; rewrite value_at_below, value_mean_zero; [ring|].
    intros u _; apply (zero x ((s ++ [a]) ++ u)).
Qed.

(** The advantage is the natural gradient for ended responses too. *)
Lemma natural_gradient_ended n h ends z reward w :
  (0 < n)%nat -> (0 < h)%nat ->
  let A := advantage_at n h z (edge_reward h (fun y => reward (cut ends y))) in
  is_derive (fun t => mean_ended n h ends (moved z t w) reward) 0
    (mean_ended n h ends z (fun y =>
       sum_along (centered_policy n z A) y * sum_along (centered_policy n z w) y)).
Proof.
  intros some long A.
  apply is_derive_ext with
    (f := fun t => mean_responses n h (moved z t w) (fun y => reward (cut ends y))).
  { intros t; symmetry; apply mean_ended_cut, some. }
  evar_last.
  - apply (is_derive_expected_reward n h (fun t => moved z t w) w 0 some); [|assumption].
    intros; apply is_derive_moved.
  - rewrite fisher_ended, moved_0 by assumption; fold A.
    apply sum_states_ext; intros s [short _]; destruct (running ends s) eqn:alive.
    + f_equal; rewrite covariance_centered_l by (apply softmax_sum, some); apply mean_ext; intros a _.
      unfold centered, A; rewrite mean_advantage by assumption; ring.
    + rewrite (mean_ext n _ _ (fun _ => 0)), mean_const; [ring|apply softmax_sum, some|].
      intros a _; unfold A; rewrite advantage_ended by assumption; ring.
Qed.

(** Without ends every response has h tokens. *)
Lemma cut_never y : cut (fun _ _ => false) y = y.
Proof. induction y as [|a rest IH]; simpl; [reflexivity|]; f_equal; exact IH. Qed.

Lemma ended_entropy_never n h z :
  (0 < n)%nat -> ended_entropy n h (fun _ _ => false) z = response_entropy n h z.
Proof.
  intros some; rewrite ended_entropy_mean by assumption; unfold response_entropy, mean_responses; f_equal.
  apply sum_responses_ext; intros y _; rewrite cut_never; reflexivity.
Qed.
