(** The policy gradient on token trees against the entropy of responses, with best constants: AEnt,
    Proposition 1 (I), and its extensions. Each state's block of the gradient, weighted with the state's
    visits, is bounded by the state's entropy (GradientBlock.v); summed over states that is the bound. *)

From Coq Require Import Reals Lra Lia Psatz List Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities GradientBlock Trees TreeValues
  TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

(** * Sums over states *)

Lemma sum_responses_ge_term n h : forall f y,
  (forall u, response_of n h u -> 0 <= f u) -> response_of n h y -> f y <= sum_responses n h f.
Proof.
  induction h as [|k IH]; intros f y nonneg [long below_n]; simpl.
  - destruct y; [lra|discriminate].
  - destruct y as [|a rest]; [discriminate|].
    inversion below_n; subst.
    apply Rle_trans with (sum_responses n k (after a f)).
    + apply (IH (after a f) rest); [|split; [simpl in long; lia|assumption]].
      intros u response; apply nonneg, response_of_cons; assumption.
    + apply (sum_ge_term n (fun b => sum_responses n k (after b f))); [|assumption].
      intros b inside; apply sum_responses_nonneg; intros u response.
      apply nonneg, response_of_cons; assumption.
Qed.

Lemma sum_states_ge_term n h f s :
  (forall u, state_of n h u -> 0 <= f u) -> state_of n h s -> f s <= sum_states n h f.
Proof.
  intros nonneg [short below_n].
  apply Rle_trans with (sum_responses n (length s) f).
  - apply sum_responses_ge_term; [|split; [reflexivity|assumption]].
    intros u [long u_below]; apply nonneg; split; [lia|assumption].
  - apply (sum_ge_term h (fun t => sum_responses n t f)); [|assumption].
    intros t inside; apply sum_responses_nonneg; intros u [long u_below].
    apply nonneg; split; [lia|assumption].
Qed.

(** For numbers >= 0 the sum of squares is at most the square of the sum. *)
Lemma sum_states_squares_le n h f :
  (forall s, state_of n h s -> 0 <= f s) ->
  sum_states n h (fun s => Rsqr (f s)) <= Rsqr (sum_states n h f).
Proof.
  intros nonneg; unfold Rsqr at 2; rewrite <- sum_states_scal.
  apply sum_states_le; intros s state; unfold Rsqr.
  apply Rmult_le_compat_r; [apply nonneg, state|apply sum_states_ge_term; assumption].
Qed.

Lemma entropy_nonneg n z : (0 < n)%nat -> 0 <= entropy n z.
Proof.
  intros some; unfold entropy; rewrite <- sum_opp; apply sum_nonneg; intros a inside.
  pose proof (softmax_pos n z a some); pose proof (softmax_le_1 n z a inside).
  pose proof (ln_nonpos (softmax n z a)); nra.
Qed.

Lemma response_entropy_nonneg n h z : (0 < n)%nat -> 0 <= response_entropy n h z.
Proof.
  intros some; rewrite response_entropy_states by exact some.
  apply sum_states_nonneg; intros s _.
  apply Rmult_le_pos; [apply Rlt_le, probability_pos, some|apply entropy_nonneg, some].
Qed.

(** * The gradient *)

Lemma gradient_formula_block n h z reward s a :
  (length s < h)%nat ->
  gradient_of_value n h z reward s a =
  probability n z s
  * block n (softmax n (z s)) (action_value n h z (edge_reward h reward) s) a.
Proof.
  intros short; unfold gradient_of_value, block; rewrite advantage_centered by assumption; ring.
Qed.

(** The formula is the gradient: whatever has the partial derivatives of the expected return as its
    entries. *)
Definition is_gradient (n h : nat) (z : policy) (reward : state -> R) (gradient : state -> vector)
    : Prop :=
  forall s a, state_of n h s -> (a < n)%nat ->
    derivative (fun x => mean_responses n h (set_logit z s a x) reward) (z s a) (gradient s a).

Lemma gradient_is_formula n h z reward gradient :
  is_gradient n h z reward gradient ->
  forall s a, state_of n h s -> (a < n)%nat -> gradient s a = gradient_of_value n h z reward s a.
Proof.
  intros slopes s a state inside.
  eapply uniqueness_limite; [apply slopes; assumption|].
  apply is_derive_Reals, is_derive_expected_reward_logit; [lia|assumption|assumption].
Qed.

(** The gradient with the factors in the order of the statements. *)
Lemma value_gradient_formula n h z reward :
  (fun s a => probability n z s * softmax n (z s) a
     * (action_value n h z (edge_reward h reward) s a - value_at n h z (edge_reward h reward) s))
  = gradient_of_value n h z reward.
Proof.
  apply functional_extensionality; intros s; apply functional_extensionality; intros a.
  unfold gradient_of_value, advantage_at; ring.
Qed.

(** Along every direction the expected return moves by the sum of the formula times the direction. *)
Lemma expected_return_along n h z reward direction :
  (0 < n)%nat -> (0 < h)%nat ->
  derivative (fun t => mean_responses n h (fun s a => z s a + t * direction s a) reward) 0
    (sum_states n h (fun s => sum n (fun a => gradient_of_value n h z reward s a * direction s a))).
Proof.
  intros some long; apply is_derive_Reals.
  pose (path := fun t s a => z s a + t * direction s a).
  assert (path 0 = z) as start.
  { apply functional_extensionality; intros s; apply functional_extensionality; intros a.
    unfold path; ring. }
  change (is_derive (fun t => mean_responses n h (path t) reward) 0
    (sum_states n h (fun s => sum n (fun a => gradient_of_value n h z reward s a * direction s a)))).
  evar_last.
  - apply (is_derive_expected_reward n h path direction 0 some); [|exact long].
    intros s a _ _; unfold path; auto_derive; [trivial|ring].
  - rewrite start; apply sum_states_ext; intros s _; unfold mean; rewrite <- sum_scal.
    apply sum_ext; intros a _; unfold gradient_of_value; ring.
Qed.

(** The same over prompts, for the mean of their expected returns. *)
Lemma mean_return_along n h prompts z reward direction :
  (0 < n)%nat -> (0 < h)%nat ->
  derivative (fun t => sum prompts (fun q =>
      mean_responses n h (fun s a => z q s a + t * direction q s a) (reward q)) / INR prompts) 0
    (sum prompts (fun q => sum_states n h (fun s => sum n (fun a =>
      gradient_of_value n h (z q) (reward q) s a / INR prompts * direction q s a)))).
Proof.
  intros some long; apply is_derive_Reals.
  pose (slope := fun q => sum_states n h (fun s => sum n (fun a =>
    gradient_of_value n h (z q) (reward q) s a * direction q s a))).
  replace (sum prompts _) with (sum prompts slope / INR prompts).
  - apply (is_derive_scal_l (fun t => sum prompts (fun q =>
      mean_responses n h (fun s a => z q s a + t * direction q s a) (reward q)))
      0 (sum prompts slope) (/ INR prompts)).
    apply (is_derive_sum prompts (fun t q =>
      mean_responses n h (fun s a => z q s a + t * direction q s a) (reward q)) slope).
    intros q _; apply is_derive_Reals, expected_return_along; assumption.
  - rewrite <- sum_div; apply sum_ext; intros q _; unfold slope, Rdiv.
    rewrite Rmult_comm, <- sum_states_scal; apply sum_states_ext; intros s _.
    rewrite <- sum_scal; apply sum_ext; intros a _; ring.
Qed.

(** Returns in [0, 1] make every action value lie there, as a conditional expectation of them. *)
Lemma action_value_range n h z reward s a :
  (forall y, response_of n h y -> 0 <= reward y <= 1) ->
  state_of n h s -> (a < n)%nat ->
  0 <= action_value n h z (edge_reward h reward) s a <= 1.
Proof.
  intros range [short below_n] inside; assert (0 < n)%nat as some by lia.
  pose proof (sum_through_action_value n h z reward s a some short) as through.
  assert (0 < probability n z s * softmax n (z s) a) as positive
    by (apply Rmult_lt_0_compat; [apply probability_pos, some|apply softmax_pos, some]).
  assert (forall y, response_of n (h - length (s ++ [a])) y -> response_of n h ((s ++ [a]) ++ y))
    as response.
  { intros y [long y_below]; rewrite app_length in long; simpl in long; split.
    - rewrite !app_length; simpl; lia.
    - apply Forall_app; split; [|assumption].
      apply Forall_app; split; [assumption|repeat constructor; assumption]. }
  assert (0 <= sum_through n h z reward (s ++ [a])) as low.
  { apply sum_responses_nonneg; intros y inside_y; apply Rmult_le_pos.
    - apply Rlt_le, probability_pos, some.
    - apply range, response, inside_y. }
  assert (sum_through n h z reward (s ++ [a]) <= sum_through n h z (fun _ => 1) (s ++ [a])) as high.
  { apply sum_responses_le; intros y inside_y; apply Rmult_le_compat_l.
    - apply Rlt_le, probability_pos, some.
    - apply range, response, inside_y. }
  rewrite probability_through, probability_child in high by assumption.
  rewrite through in *; split; nra.
Qed.

(** * Norms *)

Section Bounds.

Variables (n h : nat) (z : policy) (reward : state -> R).
Hypothesis some : (0 < n)%nat.
Hypothesis range : forall y, response_of n h y -> 0 <= reward y <= 1.

Let gradient := gradient_of_value n h z reward.
Let action_values := action_value n h z (edge_reward h reward).

(** A state's positive mass, weighted with its visits. *)
Definition weighted_mass (s : state) : R :=
  probability n z s * positive_mass n (softmax n (z s)) (action_values s).

Lemma softmax_nonneg s a : (a < n)%nat -> 0 <= softmax n (z s) a.
Proof. intros; apply Rlt_le, softmax_pos, some. Qed.

Lemma softmax_one s : sum n (softmax n (z s)) = 1.
Proof. apply softmax_sum, some. Qed.

Lemma weighted_mass_nonneg s : 0 <= weighted_mass s.
Proof.
  apply Rmult_le_pos; [apply Rlt_le, probability_pos, some|].
  apply positive_mass_nonneg; [apply softmax_one|apply softmax_nonneg].
Qed.

Lemma entropy_above_masses : 4 * ln 2 * sum_states n h weighted_mass <= response_entropy n h z.
Proof.
  rewrite response_entropy_states by exact some; rewrite <- sum_states_scal.
  apply sum_states_le; intros s inside; unfold weighted_mass.
  replace (4 * ln 2 * (probability n z s * positive_mass n (softmax n (z s)) (action_values s)))
    with (probability n z s * (4 * ln 2 * positive_mass n (softmax n (z s)) (action_values s)))
    by ring.
  apply Rmult_le_compat_l; [apply Rlt_le, probability_pos, some|].
  apply entropy_above_mass; [exact some|].
  intros a a_inside; apply action_value_range; assumption.
Qed.

Theorem gradient_l1_le_entropy :
  2 * ln 2 * sum_states n h (fun s => sum n (fun a => Rabs (gradient s a)))
  <= response_entropy n h z.
Proof.
  eapply Rle_trans; [|apply entropy_above_masses].
  rewrite (sum_states_ext n h _ (fun s => 2 * weighted_mass s)).
  - rewrite sum_states_scal; lra.
  - intros s [short _]; unfold weighted_mass.
    transitivity (probability n z s * (2 * positive_mass n (softmax n (z s)) (action_values s)));
      [|ring].
    rewrite <- block_l1 by apply softmax_one || apply softmax_nonneg.
    rewrite <- sum_scal; apply sum_ext; intros a inside; unfold gradient.
    rewrite gradient_formula_block, Rabs_mult by assumption.
    rewrite (Rabs_pos_eq (probability n z s)) by (apply Rlt_le, probability_pos, some).
    reflexivity.
Qed.

Lemma gradient_squares_le :
  sum_states n h (fun s => sum n (fun a => Rsqr (gradient s a)))
  <= 2 * Rsqr (sum_states n h weighted_mass).
Proof.
  apply Rle_trans with (2 * sum_states n h (fun s => Rsqr (weighted_mass s))).
  - rewrite <- sum_states_scal; apply sum_states_le; intros s [short _].
    rewrite (sum_ext n _ (fun a => Rsqr (probability n z s)
                                   * Rsqr (block n (softmax n (z s)) (action_values s) a))).
    + rewrite sum_scal; unfold weighted_mass; rewrite Rsqr_mult.
      pose proof (block_l2 n (softmax n (z s)) (action_values s) (softmax_one s) (softmax_nonneg s)).
      pose proof (Rle_0_sqr (probability n z s)); nra.
    + intros a inside; unfold gradient; rewrite gradient_formula_block by assumption.
      apply Rsqr_mult.
  - apply Rmult_le_compat_l; [lra|].
    apply sum_states_squares_le; intros; apply weighted_mass_nonneg.
Qed.

Theorem gradient_l2_le_entropy :
  8 * Rsqr (ln 2) * sum_states n h (fun s => sum n (fun a => Rsqr (gradient s a)))
  <= Rsqr (response_entropy n h z).
Proof.
  pose proof ln_2_pos as positive; pose proof entropy_above_masses as above.
  assert (0 <= sum_states n h weighted_mass) as nonneg
    by (apply sum_states_nonneg; intros; apply weighted_mass_nonneg).
  apply Rle_trans with (Rsqr (4 * ln 2 * sum_states n h weighted_mass)).
  - rewrite !Rsqr_mult; pose proof gradient_squares_le.
    pose proof (Rle_0_sqr (ln 2)); unfold Rsqr at 3; nra.
  - apply Rsqr_incr_1; [assumption| |]; [|eapply Rle_trans; [|exact above]];
      (apply Rmult_le_pos; [lra|assumption]).
Qed.

Theorem gradient_linf_le_entropy s a :
  state_of n h s -> (a < n)%nat -> 4 * ln 2 * Rabs (gradient s a) <= response_entropy n h z.
Proof.
  intros state inside; pose proof ln_2_pos.
  eapply Rle_trans; [|apply entropy_above_masses].
  apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (weighted_mass s).
  - unfold gradient; rewrite gradient_formula_block, Rabs_mult by apply state.
    rewrite (Rabs_pos_eq (probability n z s)) by (apply Rlt_le, probability_pos, some).
    apply Rmult_le_compat_l; [apply Rlt_le, probability_pos, some|].
    apply block_entry; [apply softmax_one|apply softmax_nonneg|assumption].
  - apply sum_states_ge_term; [intros; apply weighted_mass_nonneg|assumption].
Qed.

End Bounds.

(** * Where the bounds are attained *)

(** Two tokens, one a response, both as likely; the first one is right. *)
Definition even_policy : policy := fun _ _ => 0.
Definition first_is_right : state -> R := fun y => match y with [O] => 1 | _ => 0 end.

Lemma even_softmax a : softmax 2 (fun _ => 0) a = / 2.
Proof. unfold softmax; simpl; rewrite exp_0; field. Qed.

Lemma first_is_right_range y : 0 <= first_is_right y <= 1.
Proof. destruct y as [|[|k] [|b rest]]; simpl; lra. Qed.

Lemma even_entropy : response_entropy 2 1 even_policy = ln 2.
Proof.
  rewrite response_entropy_states by lia; unfold sum_states, entropy, even_policy; simpl.
  rewrite !even_softmax, ln_Rinv by lra; field.
Qed.

Lemma even_gradient a :
  (a < 2)%nat ->
  gradient_of_value 2 1 even_policy first_is_right [] a = match a with O => / 4 | _ => - / 4 end.
Proof.
  intros inside; unfold gradient_of_value, advantage_at, action_value, edge_reward, even_policy.
  destruct a as [|[|a]]; [| |lia]; simpl; unfold mean; simpl; rewrite !even_softmax; simpl; field.
Qed.
