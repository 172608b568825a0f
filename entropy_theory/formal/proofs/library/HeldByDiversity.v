(** The full entropy held, to first order, by the bonus on the entropy among right answers.

    With g the gradient of the reward, h that of the entropy and b the bonus's step, the reward's rate
    along g + c b, <h, g + c b> = 0, is (|g|^2 <h, b> - <h, g> <g, b>)/<h, b>. The numerator is a sum of
    three parts, none of them negative. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Inequalities Masks Gradients
  TabularGradients Clamping DiverseBonus.
From PolicyEntropy.library Require Reward RewardRate.
Open Scope R_scope.

Definition right_gradient (n : nat) (z : vector) (A : mask) : vector :=
  fun a => softmax n z a * (if A a then total_on n (fun b => negb (A b)) (softmax n z)
                            else - total_on n A (softmax n z)).
Definition bonus_step (n : nat) (z : vector) (A : mask) : vector :=
  fun a => softmax n z a * surprise n z A a.
Definition learning (n : nat) (z : vector) (A : mask) : R :=
  sum n (fun a => right_gradient n z A a * right_gradient n z A a).
Definition entropy_of_learning (n : nat) (z : vector) (A : mask) : R :=
  sum n (fun a => entropy_gradient n z a * right_gradient n z A a).
Definition entropy_of_bonus (n : nat) (z : vector) (A : mask) : R :=
  sum n (fun a => entropy_gradient n z a * bonus_step n z A a).
Definition reward_of_bonus (n : nat) (z : vector) (A : mask) : R :=
  sum n (fun a => right_gradient n z A a * bonus_step n z A a).
Definition held_gain (n : nat) (z : vector) (A : mask) : R :=
  learning n z A * entropy_of_bonus n z A - entropy_of_learning n z A * reward_of_bonus n z A.
Definition held_step (n : nat) (z : vector) (A : mask) : vector :=
  fun a => right_gradient n z A a
           + - entropy_of_learning n z A / entropy_of_bonus n z A * bonus_step n z A a.

(** Sums of squares on a set, weighted by powers of log-probability less its mean there. *)
Definition squares (n : nat) (z : vector) (A : mask) : R :=
  sum n (fun a => conditional n z A a * conditional n z A a).
Definition tilted (n : nat) (z : vector) (A : mask) : R :=
  sum n (fun a => conditional n z A a * conditional n z A a * centered n (conditional n z A) z a).
Definition varied (n : nat) (z : vector) (A : mask) : R :=
  sum n (fun a => conditional n z A a * centered n (conditional n z A) z a
                  * (conditional n z A a * centered n (conditional n z A) z a)).

Section OneSet.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : nonempty n A.

Lemma squares_pos : 0 < squares n z A.
Proof.
  destruct some as [a [inside member]]; pose proof (q_pos n z A some a member).
  apply (sum_pos_term n _ a); [intros; apply Rle_0_sqr|assumption|apply Rmult_lt_0_compat; assumption].
Qed.

Lemma tilted_nonneg : 0 <= tilted n z A.
Proof.
  replace (tilted n z A) with (covariance n (conditional n z A) (conditional n z A) z).
  - apply price_nonneg, some.
  - rewrite (weighted_covariance n z A some); unfold mean, tilted; apply sum_ext; intros; ring.
Qed.

Lemma varied_nonneg : 0 <= varied n z A.
Proof. apply sum_nonneg; intros; apply Rle_0_sqr. Qed.

Lemma tilted_squared : tilted n z A * tilted n z A <= squares n z A * varied n z A.
Proof.
  pose proof (cauchy_schwarz n (conditional n z A)
    (fun a => conditional n z A a * centered n (conditional n z A) z a)) as bound; unfold Rsqr in bound.
  rewrite (sum_ext n _ (fun a => conditional n z A a * conditional n z A a
                                 * centered n (conditional n z A) z a)) in bound by (intros; ring).
  exact bound.
Qed.

Lemma tilted_without_variation : varied n z A = 0 -> tilted n z A = 0.
Proof.
  intros none; pose proof tilted_squared as bound; rewrite none, Rmult_0_r in bound.
  pose proof (Rle_0_sqr (tilted n z A)); unfold Rsqr in *; apply Rsqr_0_uniq; unfold Rsqr; lra.
Qed.

End OneSet.

Section Held.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some_right : nonempty n A.

Let p := softmax n z.
Let m := total_on n A p.
Let q := conditional n z A.

Let inhabited : (0 < n)%nat := right_some n A some_right.

(** Rates along the two directions. *)
Lemma gradient_of_reward v :
  derivative (fun t => total_on n A (softmax n (fun a => z a + t * v a))) 0
    (sum n (fun a => right_gradient n z A a * v a)).
Proof.
  replace (sum n (fun a => right_gradient n z A a * v a)) with (covariance n p (Reward.hit A) v).
  - apply derivative_of_is_derive, (RewardRate.is_derive_reward n z A v inhabited).
  - assert (right : mean n p (Reward.hit A) = m).
    { unfold m, total_on; apply sum_ext; intros a _; unfold Reward.hit, only; destruct (A a); ring. }
    rewrite covariance_centered_l by (apply softmax_sum, inhabited).
    apply sum_ext; intros a _; unfold centered, right_gradient; rewrite right.
    assert (rest : total_on n (fun b => negb (A b)) (softmax n z) = 1 - m)
      by exact (wrong_mass n z A some_right).
    rewrite rest; change (total_on n A (softmax n z)) with m; change (softmax n z) with p.
    unfold Reward.hit, only; destruct (A a); ring.
Qed.

Lemma rate_of_entropy v :
  derivative (fun t => entropy n (fun a => z a + t * v a)) 0
    (sum n (fun a => entropy_gradient n z a * v a)).
Proof. apply (line_derivative n (fun x => entropy n x) z), gradient_of_entropy, inhabited. Qed.

Lemma entropy_is_held :
  entropy_of_bonus n z A <> 0 ->
  derivative (fun t => entropy n (fun a => z a + t * held_step n z A a)) 0 0.
Proof.
  intros able; replace 0 with (sum n (fun a => entropy_gradient n z a * held_step n z A a)) at 2.
  - apply rate_of_entropy.
  - unfold held_step; set (c := - _ / _).
    rewrite (sum_ext n _ (fun a => entropy_gradient n z a * right_gradient n z A a
                                   + c * (entropy_gradient n z a * bonus_step n z A a))) by (intros; ring).
    rewrite sum_plus, sum_scal.
    change (entropy_of_learning n z A + c * entropy_of_bonus n z A = 0); unfold c; field; exact able.
Qed.

Lemma reward_rate_held :
  entropy_of_bonus n z A <> 0 ->
  derivative (fun t => total_on n A (softmax n (fun a => z a + t * held_step n z A a))) 0
    (held_gain n z A / entropy_of_bonus n z A).
Proof.
  intros able.
  replace (held_gain n z A / entropy_of_bonus n z A)
    with (sum n (fun a => right_gradient n z A a * held_step n z A a)).
  - apply gradient_of_reward.
  - unfold held_step; set (c := - _ / _).
    rewrite (sum_ext n _ (fun a => right_gradient n z A a * right_gradient n z A a
                                   + c * (right_gradient n z A a * bonus_step n z A a))) by (intros; ring).
    rewrite sum_plus, sum_scal.
    change (learning n z A + c * reward_of_bonus n z A = held_gain n z A / entropy_of_bonus n z A).
    unfold c, held_gain; field; exact able.
Qed.

(** * All answers right: no gradient *)

Lemma nothing_to_learn : everything n A -> held_gain n z A = 0.
Proof.
  intros all.
  assert (none : total_on n (fun b => negb (A b)) p = 0).
  { transitivity (1 - m); [exact (wrong_mass n z A some_right)|].
    unfold m; rewrite (total_on_everything n A p all).
    unfold p; rewrite softmax_sum by exact inhabited; ring. }
  assert (still : forall a, (a < n)%nat -> right_gradient n z A a = 0).
  { intros a inside; unfold right_gradient; rewrite (all a inside); fold p; rewrite none; ring. }
  assert (nowhere : forall v, sum n (fun a => right_gradient n z A a * v a) = 0).
  { intros v; rewrite (sum_ext n _ (fun _ => 0)), sum_zero; [reflexivity|].
    intros a inside; rewrite still by exact inside; ring. }
  unfold held_gain, learning, reward_of_bonus; rewrite !nowhere; ring.
Qed.

(** * Some answers wrong *)

Section SomeWrong.

Hypothesis some_wrong : nonempty n (complement A).

Let w := conditional n z (complement A).
Let mu := 1 - m.
(** How much likelier, in nats, right answers are than wrong ones on the mean. *)
Let lead := mean n q z - mean n w z.

Lemma wrong_part : total_on n (complement A) p = mu.
Proof. exact (wrong_mass n z A some_right). Qed.

Lemma mu_pos : 0 < mu.
Proof. rewrite <- wrong_part; exact (mass_pos n z (complement A) some_wrong). Qed.

Lemma at_right a : A a = true -> p a = m * q a /\ w a = 0.
Proof.
  intros member; split; [exact (softmax_on_kept n z A some_right a member)|].
  apply conditional_off_kept; unfold complement; rewrite member; reflexivity.
Qed.

Lemma at_wrong a : A a = false -> p a = mu * w a /\ q a = 0.
Proof.
  intros outside; split; [|apply conditional_off_kept; exact outside].
  rewrite <- wrong_part; apply (softmax_on_kept n z (complement A) some_wrong).
  unfold complement; rewrite outside; reflexivity.
Qed.

Lemma mean_parts : mean n p z = m * mean n q z + mu * mean n w z.
Proof.
  unfold mean; rewrite <- !sum_scal, <- sum_plus; apply sum_ext; intros a _.
  destruct (A a) eqn:member; [destruct (at_right a member) as [-> ->]|destruct (at_wrong a member) as [-> ->]];
    ring.
Qed.

(** The entropy's gradient on right and on wrong answers. *)
Lemma gradient_form a : entropy_gradient n z a = - p a * centered n p z a.
Proof.
  unfold entropy_gradient; rewrite log_softmax_eq, entropy_eq by exact inhabited.
  unfold centered, p; ring.
Qed.

Lemma gradient_at_right a : A a = true ->
  entropy_gradient n z a = - (m * q a) * (centered n q z a + mu * lead).
Proof.
  intros member; rewrite gradient_form; destruct (at_right a member) as [-> _].
  unfold centered; rewrite mean_parts; unfold lead, mu; ring.
Qed.

Lemma gradient_at_wrong a : A a = false ->
  entropy_gradient n z a = - (mu * w a) * (centered n w z a - m * lead).
Proof.
  intros outside; rewrite gradient_form; destruct (at_wrong a outside) as [-> _].
  unfold centered; rewrite mean_parts; unfold lead, mu; ring.
Qed.

Lemma reward_form a : right_gradient n z A a = m * mu * (q a - w a).
Proof.
  unfold right_gradient; fold p; fold m.
  change (total_on n (fun b => negb (A b)) p) with (total_on n (complement A) p); rewrite wrong_part.
  destruct (A a) eqn:member; [destruct (at_right a member) as [-> ->]|destruct (at_wrong a member) as [-> ->]];
    ring.
Qed.

Lemma bonus_form a : bonus_step n z A a = - m * (q a * centered n q z a).
Proof.
  unfold bonus_step, surprise; fold p q; destruct (A a) eqn:member.
  - destruct (at_right a member) as [-> _]; ring.
  - destruct (at_wrong a member) as [_ ->]; ring.
Qed.

Lemma apart a : q a * w a = 0.
Proof.
  destruct (A a) eqn:member; [destruct (at_right a member) as [_ ->]|destruct (at_wrong a member) as [_ ->]];
    ring.
Qed.

Let s := squares n z A.
Let K := tilted n z A.
Let V := varied n z A.
Let s_w := squares n z (complement A).
Let K_w := tilted n z (complement A).

Lemma learning_form : learning n z A = m * m * (mu * mu) * (s + s_w).
Proof.
  unfold learning, s, s_w, squares; fold q w.
  rewrite <- sum_plus, <- sum_scal; apply sum_ext; intros a _; rewrite reward_form.
  pose proof (apart a).
  replace (m * mu * (q a - w a) * (m * mu * (q a - w a)))
    with (m * m * (mu * mu) * (q a * q a + w a * w a - 2 * (q a * w a))) by ring.
  rewrite H; ring.
Qed.

Lemma entropy_of_bonus_form : entropy_of_bonus n z A = m * m * (V + mu * lead * K).
Proof.
  unfold entropy_of_bonus, V, K, varied, tilted; fold q.
  rewrite <- (sum_scal n (mu * lead)), <- sum_plus, <- sum_scal; apply sum_ext; intros a _.
  rewrite bonus_form; destruct (A a) eqn:member.
  - rewrite gradient_at_right by exact member; ring.
  - destruct (at_wrong a member) as [_ ->]; ring.
Qed.

Lemma reward_of_bonus_form : reward_of_bonus n z A = - (m * m * mu * K).
Proof.
  unfold reward_of_bonus, K, tilted; fold q.
  rewrite <- sum_scal, <- sum_opp; apply sum_ext; intros a _; rewrite reward_form, bonus_form.
  pose proof (apart a).
  replace (m * mu * (q a - w a) * (- m * (q a * centered n q z a)))
    with (- (m * m * mu) * (q a * q a * centered n q z a)
          + m * m * mu * centered n q z a * (q a * w a)) by ring.
  rewrite H; ring.
Qed.

Lemma entropy_of_learning_form :
  entropy_of_learning n z A
  = - (m * m * mu * (K + mu * lead * s)) + m * (mu * mu) * (K_w - m * lead * s_w).
Proof.
  unfold entropy_of_learning, K, K_w, s, s_w, tilted, squares; fold q w.
  rewrite <- (sum_scal n (mu * lead)), <- (sum_scal n (m * lead)), <- sum_plus, <- sum_minus.
  rewrite <- (sum_scal n (m * m * mu)), <- (sum_scal n (m * (mu * mu))), <- sum_opp, <- sum_plus.
  apply sum_ext; intros a _; rewrite reward_form; destruct (A a) eqn:member.
  - rewrite gradient_at_right by exact member; destruct (at_right a member) as [_ ->]; ring.
  - rewrite gradient_at_wrong by exact member; destruct (at_wrong a member) as [_ ->]; ring.
Qed.

Lemma held_gain_form :
  held_gain n z A
  = m * m * m * (mu * mu) * (m * (s * V - K * K) + m * (s_w * V) + mu * (K * K_w)).
Proof.
  unfold held_gain.
  rewrite learning_form, entropy_of_bonus_form, reward_of_bonus_form, entropy_of_learning_form; ring.
Qed.

Lemma weight_pos : 0 < m * m * m * (mu * mu).
Proof.
  pose proof mu_pos; pose proof (mass_pos n z A some_right) as positive; fold p m in positive.
  repeat apply Rmult_lt_0_compat; assumption.
Qed.

Lemma parts_nonneg : 0 <= m * (s * V - K * K) /\ 0 <= m * (s_w * V) /\ 0 <= mu * (K * K_w).
Proof.
  pose proof mu_pos; pose proof (mass_pos n z A some_right) as positive; fold p m in positive.
  pose proof (tilted_squared n z A) as bound; fold s V K in bound.
  repeat split; apply Rmult_le_pos; try lra.
  - apply Rmult_le_pos; [apply Rlt_le, squares_pos, some_wrong|apply varied_nonneg].
  - apply Rmult_le_pos; apply tilted_nonneg; assumption.
Qed.

Lemma gain_nonneg : 0 <= held_gain n z A.
Proof.
  rewrite held_gain_form; apply Rmult_le_pos; [apply Rlt_le, weight_pos|].
  pose proof parts_nonneg; lra.
Qed.

Lemma gain_pos : entropy_of_bonus n z A <> 0 -> 0 < held_gain n z A.
Proof.
  rewrite entropy_of_bonus_form, held_gain_form; intros able.
  apply Rmult_lt_0_compat; [exact weight_pos|].
  destruct parts_nonneg as (first & _ & last).
  enough (0 < m * (s_w * V)) by lra.
  apply Rmult_lt_0_compat; [exact (mass_pos n z A some_right)|].
  apply Rmult_lt_0_compat; [apply squares_pos, some_wrong|].
  destruct (Rle_lt_or_eq_dec 0 V (varied_nonneg n z A)) as [more|none]; [exact more|].
  exfalso; apply able; symmetry in none.
  pose proof (tilted_without_variation n z A none) as flat; fold K in flat; rewrite none, flat; ring.
Qed.

End SomeWrong.

Theorem held_gain_nonneg : 0 <= held_gain n z A.
Proof.
  destruct (classic (everything n A)) as [all|not_all].
  - rewrite nothing_to_learn by exact all; lra.
  - apply gain_nonneg, some_wrong, not_all.
Qed.

Theorem held_gain_zero : entropy_of_bonus n z A <> 0 -> held_gain n z A = 0 -> everything n A.
Proof.
  intros able zero; destruct (classic (everything n A)) as [all|not_all]; [exact all|].
  pose proof (gain_pos (some_wrong n A not_all) able); lra.
Qed.

End Held.
