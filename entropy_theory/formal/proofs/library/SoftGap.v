(** The soft gap against the regularized gradient on token trees: AEnt, Lemma 6, with 4 lambda in place
    of 2 lambda.

    By the performance difference the gap is a sum over the states that the soft policy visits of what
    the state would gain, at most lambda KL(pi || softmax(Q/lambda)), which is at most
    range(zeta)^2/(8 lambda) with zeta = Q - lambda log pi (Hoeffding); and the state's block of the
    gradient has at least half of (d(s) min pi range(zeta))^2 of squares. *)

From Coq Require Import Reals Lra Lia Psatz List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Inequalities Trees TreeValues
  TreeLargest TreeGradientBounds Stationarity SoftOptimum.
Import ListNotations.
Open Scope R_scope.

(** * One state *)

Lemma two_terms_le n f a b :
  (forall c, (c < n)%nat -> 0 <= f c) -> (a < n)%nat -> (b < n)%nat -> a <> b -> f a + f b <= sum n f.
Proof.
  intros nonneg a_inside b_inside other.
  pose (A := fun c => Nat.eqb c a); rewrite (total_on_split n A f); apply Rplus_le_compat.
  - apply total_on_ge_term; [assumption..|apply Nat.eqb_refl].
  - apply total_on_ge_term; [assumption..|].
    unfold complement, A; rewrite (proj2 (Nat.eqb_neq b a)) by auto; reflexivity.
Qed.

(** The distance of the largest from the smallest value. *)
Definition spread (n : nat) (f : vector) : R := largest n f - smallest n f.

Lemma spread_le_squares n f c :
  (0 < n)%nat -> Rsqr (spread n f) <= 2 * sum n (fun a => Rsqr (f a - c)).
Proof.
  intros some; unfold spread.
  destruct (largest_attained n f some) as (top & top_inside & ->).
  destruct (smallest_attained n f some) as (bottom & bottom_inside & ->).
  destruct (Nat.eq_dec top bottom) as [->|other].
  - assert (0 <= sum n (fun a => Rsqr (f a - c))) by (apply sum_nonneg; intros; apply Rle_0_sqr).
    replace (f bottom - f bottom) with 0 by ring; rewrite Rsqr_0; lra.
  - pose proof (two_terms_le n (fun a => Rsqr (f a - c)) top bottom
                  ltac:(intros; apply Rle_0_sqr) top_inside bottom_inside other) as terms.
    pose proof (Rle_0_sqr (f top - c + (f bottom - c))); unfold Rsqr in *; nra.
Qed.

(** What the best next choice would gain on pi: lambda KL(pi || softmax(q/lambda)), at most
    range(q - lambda log pi)^2/(8 lambda). *)
Lemma soft_gain_le n z q lambda :
  (0 < n)%nat -> 0 < lambda ->
  lambda * ln (sum n (fun a => exp (q a / lambda)))
  - mean n (softmax n z) (fun a => q a - lambda * log_softmax n z a)
  <= Rsqr (spread n (fun a => q a - lambda * log_softmax n z a)) / (8 * lambda).
Proof.
  intros some positive; set (zeta := fun a => q a - lambda * log_softmax n z a).
  pose proof (log_moment_le n (softmax n z) (fun a => zeta a / lambda)
                (smallest n zeta / lambda) (largest n zeta / lambda) some (softmax_sum n z some)) as bound.
  cbv beta in bound; specialize (bound ltac:(intros; apply softmax_pos, some)).
  assert (0 < / lambda) as inverse by (apply Rinv_0_lt_compat, positive).
  specialize (bound ltac:(intros a inside; unfold Rdiv; split; apply Rmult_le_compat_r;
    (lra || apply smallest_le || apply largest_ge); assumption)).
  replace (mean n (softmax n z) (fun a => exp (zeta a / lambda)))
    with (sum n (fun a => exp (q a / lambda))) in bound.
  - replace (mean n (softmax n z) (fun a => zeta a / lambda)) with (mean n (softmax n z) zeta / lambda)
      in bound by (unfold mean; rewrite <- sum_div; apply sum_ext; intros; field; lra).
    replace (largest n zeta / lambda - smallest n zeta / lambda) with (spread n zeta / lambda) in bound
      by (unfold spread; field; lra).
    apply (Rmult_le_compat_l lambda) in bound; [|lra].
    replace (lambda * (mean n (softmax n z) zeta / lambda + Rsqr (spread n zeta / lambda) / 8))
      with (mean n (softmax n z) zeta + Rsqr (spread n zeta) / (8 * lambda)) in bound
      by (unfold Rsqr; field; lra).
    lra.
  - unfold mean; apply sum_ext; intros a inside; unfold zeta.
    replace ((q a - lambda * log_softmax n z a) / lambda) with (q a / lambda + - log_softmax n z a)
      by (field; lra).
    pose proof (softmax_pos n z a some); unfold log_softmax.
    rewrite exp_plus, exp_Ropp, exp_ln by assumption; field; lra.
Qed.

(** * The tree *)

Section Gap.

Variables (n h : nat) (z : policy) (reward : state -> R) (lambda : R).
Hypothesis some : (0 < n)%nat.
Hypothesis long : (0 < h)%nat.
Hypothesis positive : 0 < lambda.

Let edge := edge_with_entropy n h z reward lambda.
Let optimal := soft_policy n h lambda (edge_reward h reward).
Let zeta (s : state) : vector := action_value n h z edge s.

(** The gradient of V + lambda H in the logits (AEnt, Lemma 3). *)
Definition regularized_gradient (s : state) (a : nat) : R :=
  probability n z s * softmax n (z s) a * advantage_at n h z edge s a.

Definition soft_gap : R :=
  value_with_entropy n h optimal reward lambda - value_with_entropy n h z reward lambda.

Lemma soft_gap_nonneg : 0 <= soft_gap.
Proof.
  unfold soft_gap, optimal; rewrite soft_policy_attains by assumption.
  pose proof (soft_value_is_largest n h z reward lambda some long positive); lra.
Qed.

Lemma soft_gap_le_spreads :
  soft_gap <= sum_states n h (fun s => probability n optimal s * (Rsqr (spread n (zeta s)) / (8 * lambda))).
Proof.
  unfold soft_gap; rewrite <- !value_regularized_edge by assumption.
  rewrite (performance_difference n h optimal z) by assumption.
  apply sum_states_le; intros s [short _].
  apply Rmult_le_compat_l; [apply Rlt_le, probability_pos, some|].
  fold edge; rewrite (value_at_state n z s h edge short).
  pose (q := fun a => edge_reward h reward s a + value_at n h z edge (s ++ [a])).
  assert (forall a, zeta s a = q a - lambda * log_softmax n (z s) a) as same.
  { intros a; unfold zeta, action_value, q; unfold edge at 1, edge_with_entropy, log_policy; ring. }
  pose proof (soft_gain_le n (z s) q lambda some positive) as gain.
  pose proof (soft_bound n (optimal s) q lambda some positive) as at_optimal.
  rewrite <- (mean_ext n (softmax n (z s)) (zeta s)) in gain by (intros; apply same).
  assert (spread n (fun a => q a - lambda * log_softmax n (z s) a) = spread n (zeta s)) as spreads.
  { f_equal; apply FunctionalExtensionality.functional_extensionality; intros; symmetry; apply same. }
  rewrite spreads in gain.
  rewrite (mean_ext n _ (fun a => edge_with_entropy n h optimal reward lambda s a
      + value_at n h z edge (s ++ [a])) (fun a => q a - lambda * log_softmax n (optimal s) a))
    by (intros; unfold q, edge_with_entropy, log_policy; ring).
  fold (zeta s); lra.
Qed.

(** A state's block of the gradient. *)
Lemma block_above_spread s :
  (length s < h)%nat ->
  Rsqr (probability n z s * smallest n (softmax n (z s))) * Rsqr (spread n (zeta s))
  <= 2 * sum n (fun a => Rsqr (regularized_gradient s a)).
Proof.
  intros short; set (least := smallest n (softmax n (z s))).
  assert (0 <= least) as least_nonneg.
  { destruct (smallest_attained n (softmax n (z s)) some) as (a & _ & is_a).
    unfold least; rewrite is_a; apply Rlt_le, softmax_pos, some. }
  pose proof (probability_pos n z s some) as visited.
  apply Rle_trans with
    (Rsqr (probability n z s * least) * (2 * sum n (fun a => Rsqr (advantage_at n h z edge s a)))).
  - apply Rmult_le_compat_l; [apply Rle_0_sqr|].
    apply (spread_le_squares n (zeta s) (value_at n h z edge s)), some.
  - replace (Rsqr (probability n z s * least) * (2 * sum n (fun a => Rsqr (advantage_at n h z edge s a))))
      with (2 * (Rsqr (probability n z s * least) * sum n (fun a => Rsqr (advantage_at n h z edge s a))))
      by ring.
    apply Rmult_le_compat_l; [lra|].
    rewrite <- sum_scal; apply sum_le; intros a inside; unfold regularized_gradient.
    rewrite (Rsqr_mult (probability n z s * softmax n (z s) a)).
    apply Rmult_le_compat_r; [apply Rle_0_sqr|].
    apply Rsqr_incr_1; [|apply Rmult_le_pos; lra|].
    + apply Rmult_le_compat_l; [lra|apply smallest_le, inside].
    + apply Rmult_le_pos; [lra|apply Rlt_le, softmax_pos, some].
Qed.

(** 4 lambda C (soft gap) <= ||grad V_lambda||^2, for C P* <= (P min pi)^2 at every state. *)
Theorem soft_gap_le_gradient C :
  (forall s, state_of n h s ->
     C * probability n optimal s <= Rsqr (probability n z s * smallest n (softmax n (z s)))) ->
  4 * lambda * C * soft_gap <= sum_states n h (fun s => sum n (fun a => Rsqr (regularized_gradient s a))).
Proof.
  intros small.
  assert (0 <= sum_states n h (fun s => sum n (fun a => Rsqr (regularized_gradient s a)))) as nonneg
    by (apply sum_states_nonneg; intros; apply sum_nonneg; intros; apply Rle_0_sqr).
  pose proof soft_gap_nonneg as gap_nonneg.
  destruct (Rle_or_lt C 0) as [negative|C_pos].
  { assert (0 <= lambda * soft_gap) by (apply Rmult_le_pos; lra); nra. }
  apply Rle_trans with (4 * lambda * C
    * sum_states n h (fun s => probability n optimal s * (Rsqr (spread n (zeta s)) / (8 * lambda)))).
  - apply Rmult_le_compat_l; [|apply soft_gap_le_spreads].
    apply Rmult_le_pos; [|lra]; lra.
  - rewrite <- sum_states_scal; apply sum_states_le; intros s inside.
    pose proof (block_above_spread s ltac:(apply inside)) as block; specialize (small s inside).
    replace (4 * lambda * C * (probability n optimal s * (Rsqr (spread n (zeta s)) / (8 * lambda))))
      with (C * probability n optimal s * Rsqr (spread n (zeta s)) / 2) by (field; lra).
    apply (Rmult_le_compat_r (Rsqr (spread n (zeta s)))) in small; [lra|apply Rle_0_sqr].
Qed.

End Gap.

(** * Other constants *)

Section Constants.

Variables (n h : nat) (z other : policy).
Hypothesis some : (0 < n)%nat.

(** From the least visit, the least probability of a token, and the least ratio of visits; |S| is the
    number of states. *)
Lemma ratio_constant visit token ratio :
  0 <= visit -> 0 <= token -> 0 <= ratio ->
  (forall s, state_of n h s -> visit <= probability n z s) ->
  (forall s a, state_of n h s -> (a < n)%nat -> token <= softmax n (z s) a) ->
  (forall s, state_of n h s -> ratio * probability n other s <= probability n z s) ->
  forall s, state_of n h s ->
    visit * (token * token) * ratio / sum_states n h (fun _ => 1) * probability n other s
    <= Rsqr (probability n z s * smallest n (softmax n (z s))).
Proof.
  intros visit_nonneg token_nonneg ratio_nonneg visits tokens ratios s inside.
  assert (1 <= sum_states n h (fun _ => 1)) as states
    by (apply (sum_states_ge_term n h (fun _ => 1) s); [intros; lra|exact inside]).
  assert (token <= smallest n (softmax n (z s))) as least.
  { destruct (smallest_attained n (softmax n (z s)) some) as (a & a_inside & ->).
    apply tokens; assumption. }
  specialize (visits s inside); specialize (ratios s inside).
  set (P := probability n z s) in *; set (mu := smallest n (softmax n (z s))) in *.
  set (P' := probability n other s) in *; set (S := sum_states n h (fun _ => 1)) in *.
  assert (0 < P') by (apply probability_pos, some).
  apply Rle_trans with (visit * (token * token) * (ratio * P')).
  - replace (visit * (token * token) * ratio / S * P')
      with (/ S * (visit * (token * token) * (ratio * P'))) by (field; lra).
    assert (/ S <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
    assert (0 <= visit * (token * token) * (ratio * P')).
    { apply Rmult_le_pos; [|apply Rmult_le_pos; lra].
      apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]. }
    nra.
  - assert (visit * (token * token) * (ratio * P') <= P * (token * token) * P).
    { assert (0 <= ratio * P') by (apply Rmult_le_pos; lra).
      assert (0 <= token * token) by (apply Rmult_le_pos; lra).
      apply Rmult_le_compat; [apply Rmult_le_pos; lra|assumption| |assumption].
      apply Rmult_le_compat_r; assumption. }
    assert (token * token <= mu * mu) by (apply Rmult_le_compat; lra).
    assert (0 <= P * P) by apply Rle_0_sqr.
    unfold Rsqr; nra.
Qed.

(** From the least probability of a response. *)
Lemma response_constant least :
  0 <= least -> (forall y, response_of n h y -> least <= probability n z y) ->
  forall s, state_of n h s ->
    least * least * probability n other s <= Rsqr (probability n z s * smallest n (softmax n (z s))).
Proof.
  intros nonneg responses s [short below_n].
  destruct (smallest_attained n (softmax n (z s)) some) as (a & a_inside & ->).
  assert (least <= probability n z s * softmax n (z s) a) as bound.
  { rewrite <- probability_child.
    set (rest := repeat 0%nat (h - S (length s))).
    assert (tokens_below n rest) as rest_below.
    { apply Forall_forall; intros b inside; apply repeat_spec in inside; lia. }
    eapply Rle_trans; [apply (responses ((s ++ [a]) ++ rest))|].
    - split; [unfold rest; rewrite !app_length, repeat_length; simpl; lia|].
      apply Forall_app; split; [|assumption].
      apply Forall_app; split; [assumption|repeat constructor; assumption].
    - rewrite probability_app.
      pose proof (probability_pos n z (s ++ [a]) some).
      pose proof (probability_le_1 n (below (s ++ [a]) z) rest some rest_below); nra. }
  pose proof (probability_le_1 n other s some below_n).
  pose proof (probability_pos n other s some).
  assert (least * least <= (probability n z s * softmax n (z s) a) * (probability n z s * softmax n (z s) a))
    by (apply Rmult_le_compat; assumption).
  assert (0 <= least * least) by (apply Rmult_le_pos; assumption).
  unfold Rsqr; nra.
Qed.

End Constants.

(** * Data sets *)

Section DataSet.

Variables (n h prompts : nat) (z : nat -> policy) (reward : nat -> state -> R) (lambda : R).
Hypothesis some : (0 < n)%nat.
Hypothesis long : (0 < h)%nat.
Hypothesis positive : 0 < lambda.

(** ||grad V_lambda(D)||_2^2. *)
Definition regularized_gradient_squares : R :=
  sum prompts (fun q => sum_states n h (fun s => sum n (fun a =>
    Rsqr (regularized_gradient n h (z q) (reward q) lambda s a / INR prompts)))).

Lemma regularized_gradient_squares_nonneg : 0 <= regularized_gradient_squares.
Proof.
  apply sum_nonneg; intros; apply sum_states_nonneg; intros; apply sum_nonneg; intros.
  apply Rle_0_sqr.
Qed.

Theorem data_soft_gap_le q C :
  (q < prompts)%nat ->
  (forall s, state_of n h s ->
     C * probability n (soft_policy n h lambda (edge_reward h (reward q))) s
     <= Rsqr (probability n (z q) s * smallest n (softmax n (z q s))) / Rsqr (INR prompts)) ->
  4 * lambda * C * soft_gap n h (z q) (reward q) lambda <= regularized_gradient_squares.
Proof.
  intros inside small; assert (0 < INR prompts) as many by (apply lt_0_INR; lia).
  assert (0 < Rsqr (INR prompts)) as square by (unfold Rsqr; nra).
  pose proof (soft_gap_le_gradient n h (z q) (reward q) lambda some long positive
                (C * Rsqr (INR prompts))) as bound.
  specialize (bound ltac:(intros s state; specialize (small s state);
    apply (Rmult_le_compat_r (Rsqr (INR prompts))) in small; [|lra];
    unfold Rdiv in small; rewrite (Rmult_assoc _ (/ _)), Rinv_l, Rmult_1_r in small by lra; lra)).
  apply Rle_trans with (sum_states n h (fun s => sum n (fun a =>
    Rsqr (regularized_gradient n h (z q) (reward q) lambda s a / INR prompts)))).
  - apply (Rmult_le_reg_l (Rsqr (INR prompts))); [assumption|].
    replace (Rsqr (INR prompts) * (4 * lambda * C * soft_gap n h (z q) (reward q) lambda))
      with (4 * lambda * (C * Rsqr (INR prompts)) * soft_gap n h (z q) (reward q) lambda) by ring.
    eapply Rle_trans; [exact bound|apply Req_le].
    rewrite <- sum_states_scal; apply sum_states_ext; intros s _.
    rewrite <- sum_scal; apply sum_ext; intros a _; unfold Rsqr; field; lra.
  - apply (sum_ge_term prompts (fun k => sum_states n h (fun s => sum n (fun a =>
      Rsqr (regularized_gradient n h (z k) (reward k) lambda s a / INR prompts)))) q); [|assumption].
    intros k _; apply sum_states_nonneg; intros; apply sum_nonneg; intros; apply Rle_0_sqr.
Qed.

(** The printed form, with 2 for 4. *)
Theorem data_soft_gap_le_printed q C :
  (q < prompts)%nat ->
  (forall s, state_of n h s ->
     C * probability n (soft_policy n h lambda (edge_reward h (reward q))) s
     <= Rsqr (probability n (z q) s * smallest n (softmax n (z q s))) / Rsqr (INR prompts)) ->
  2 * lambda * C * soft_gap n h (z q) (reward q) lambda <= regularized_gradient_squares.
Proof.
  intros inside small; pose proof (data_soft_gap_le q C inside small) as bound.
  pose proof regularized_gradient_squares_nonneg; lra.
Qed.

End DataSet.

(** * The constants as minima *)

Lemma smallest_state_le n h f s : state_of n h s -> - largest_states n h (fun u => - f u) <= f s.
Proof.
  intros state; pose proof (largest_states_ge n h (fun u => - f u) s state) as above.
  cbv beta in above; lra.
Qed.

Lemma smallest_state_attained n h f :
  (0 < n)%nat -> (0 < h)%nat ->
  exists s, state_of n h s /\ - largest_states n h (fun u => - f u) = f s.
Proof.
  intros some long; destruct (largest_states_attained n h (fun u => - f u) some long) as (s & state & ->).
  exists s; split; [assumption|ring].
Qed.

Section Minima.

Variables (n h prompts : nat) (z : nat -> policy) (reward : nat -> state -> R) (lambda : R) (q : nat).
Hypothesis some : (0 < n)%nat.
Hypothesis long : (0 < h)%nat.
Hypothesis positive : 0 < lambda.
Hypothesis inside : (q < prompts)%nat.

Let visits := probability n (z q).
Let soft_visits := probability n (soft_policy n h lambda (edge_reward h (reward q))).
Let least (s : state) : R := smallest n (softmax n (z q s)).

Lemma many : 0 < INR prompts.
Proof. apply lt_0_INR; lia. Qed.

Lemma least_pos s : 0 < least s.
Proof.
  unfold least; destruct (smallest_attained n (softmax n (z q s)) some) as (a & _ & ->).
  apply softmax_pos, some.
Qed.

Theorem soft_gap_by_state :
  4 * lambda * (- largest_states n h (fun s => - ((visits s * least s) ^ 2 / soft_visits s)) / INR prompts ^ 2)
  * soft_gap n h (z q) (reward q) lambda
  <= regularized_gradient_squares n h prompts z reward lambda.
Proof.
  apply data_soft_gap_le; try assumption; intros s state; pose proof many.
  pose proof (smallest_state_le n h (fun u => (visits u * least u) ^ 2 / soft_visits u) s state) as small.
  cbv beta in small; fold visits soft_visits (least s).
  assert (0 < soft_visits s) as visited by apply probability_pos, some.
  set (C := - largest_states n h (fun u => - ((visits u * least u) ^ 2 / soft_visits u))) in *.
  apply (Rmult_le_compat_r (soft_visits s)) in small; [|lra].
  unfold Rdiv in small; rewrite Rmult_assoc, Rinv_l, Rmult_1_r in small by lra.
  replace (C / INR prompts ^ 2 * soft_visits s) with (C * soft_visits s * / Rsqr (INR prompts))
    by (unfold Rsqr; field; lra).
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; unfold Rsqr; nra|].
  unfold Rsqr; lra.
Qed.

Theorem soft_gap_by_ratio :
  2 * lambda
  * (- largest_states n h (fun s => - visits s) * (- largest_states n h (fun s => - least s)) ^ 2
     * - largest_states n h (fun s => - (visits s / soft_visits s)) / sum_states n h (fun _ => 1)
     / INR prompts ^ 2)
  * soft_gap n h (z q) (reward q) lambda
  <= regularized_gradient_squares n h prompts z reward lambda.
Proof.
  pose proof many; apply data_soft_gap_le_printed; try assumption; intros s state.
  set (visit := - largest_states n h (fun u => - visits u)).
  set (token := - largest_states n h (fun u => - least u)).
  set (ratio := - largest_states n h (fun u => - (visits u / soft_visits u))).
  assert (forall u, 0 < visits u) as reached by (intros; apply probability_pos, some).
  assert (forall u, 0 < soft_visits u) as soft_reached by (intros; apply probability_pos, some).
  pose proof (ratio_constant n h (z q) (soft_policy n h lambda (edge_reward h (reward q))) some visit token
    ratio) as bound.
  specialize (bound ltac:(unfold visit; destruct (smallest_state_attained n h visits some long)
    as (u & _ & ->); apply Rlt_le, reached)).
  specialize (bound ltac:(unfold token; destruct (smallest_state_attained n h least some long)
    as (u & _ & ->); apply Rlt_le, least_pos)).
  specialize (bound ltac:(unfold ratio; destruct (smallest_state_attained n h
    (fun u => visits u / soft_visits u) some long) as (u & _ & ->);
    apply Rlt_le, Rdiv_lt_0_compat; [apply reached|apply soft_reached])).
  specialize (bound ltac:(intros u u_state; apply (smallest_state_le n h visits u u_state))).
  specialize (bound ltac:(intros u a u_state a_inside;
    eapply Rle_trans; [apply (smallest_state_le n h least u u_state)|apply smallest_le, a_inside])).
  assert (forall u, state_of n h u -> ratio * soft_visits u <= visits u) as ratios.
  { intros u u_state.
    pose proof (smallest_state_le n h (fun v => visits v / soft_visits v) u u_state) as small.
    cbv beta in small; fold ratio in small.
    apply (Rmult_le_compat_r (soft_visits u)) in small; [|apply Rlt_le, soft_reached].
    specialize (soft_reached u); unfold Rdiv in small.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r in small by lra; exact small. }
  specialize (bound ratios s state).
  apply (Rmult_le_compat_r (/ Rsqr (INR prompts))) in bound;
    [|apply Rlt_le, Rinv_0_lt_compat; unfold Rsqr; nra].
  unfold Rdiv in *; eapply Rle_trans; [|exact bound]; apply Req_le.
  unfold soft_visits; replace (INR prompts ^ 2) with (Rsqr (INR prompts)) by (unfold Rsqr; ring).
  replace (token ^ 2) with (token * token) by ring; ring.
Qed.

Theorem soft_gap_by_response :
  2 * lambda * (- largest_responses n h (fun y => - probability n (z q) y) / INR prompts) ^ 2
  * soft_gap n h (z q) (reward q) lambda
  <= regularized_gradient_squares n h prompts z reward lambda.
Proof.
  pose proof many; apply data_soft_gap_le_printed; try assumption; intros s state.
  set (C := - largest_responses n h (fun y => - probability n (z q) y)).
  pose proof (response_constant n h (z q) (soft_policy n h lambda (edge_reward h (reward q))) some C)
    as bound.
  specialize (bound ltac:(unfold C; destruct (largest_responses_attained n h
    (fun y => - probability n (z q) y) some) as (y & _ & ->);
    pose proof (probability_pos n (z q) y some); lra)).
  specialize (bound ltac:(intros y response; unfold C;
    pose proof (largest_responses_ge n h (fun u => - probability n (z q) u) y response) as above;
    cbv beta in above; lra) s state).
  apply (Rmult_le_compat_r (/ Rsqr (INR prompts))) in bound;
    [|apply Rlt_le, Rinv_0_lt_compat; unfold Rsqr; nra].
  unfold Rdiv in *; eapply Rle_trans; [|exact bound]; apply Req_le.
  unfold Rsqr; field; lra.
Qed.

(** With what the bonus itself gives away: the gap in plain value, best the largest return. *)
Let best : R := largest_responses n h (reward q).

Theorem gap_by_state :
  4 * lambda * (- largest_states n h (fun s => - ((visits s * least s) ^ 2 / soft_visits s)) / INR prompts ^ 2)
  * (mean_responses n h (z q) (fun y => best - reward q y)
     - lambda * (INR h * ln (INR n) - ln (sum_responses n h (fun y => if equal (reward q y) best then 1 else 0))))
  <= regularized_gradient_squares n h prompts z reward lambda.
Proof.
  pose proof soft_gap_by_state as soft.
  assert (exists y, response_of n h y /\ equal (reward q y) best = true) as attained.
  { destruct (largest_responses_attained n h (reward q) some) as (y & response & is_best).
    exists y; split; [exact response|unfold equal, best]; destruct Req_EM_T; congruence. }
  assert (forall y, response_of n h y -> equal (reward q y) best = true -> reward q y = best) as only_best
    by (intros y _; unfold equal; destruct Req_EM_T; [trivial|discriminate]).
  pose proof (soft_bias n h (z q) (reward q) lambda (fun y => equal (reward q y) best) best
    some long positive attained only_best) as bias.
  unfold soft_gap in soft; rewrite soft_policy_attains in soft by assumption.
  rewrite (mean_responses_minus n h (z q) (fun _ => best)), mean_responses_const by exact some.
  set (C := - largest_states n h _ / INR prompts ^ 2) in *.
  assert (0 <= C) as C_nonneg.
  { unfold C; pose proof many; apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, pow_lt; assumption].
    destruct (smallest_state_attained n h (fun s => (visits s * least s) ^ 2 / soft_visits s) some long)
      as (s & _ & ->).
    apply Rmult_le_pos; [apply pow2_ge_0|apply Rlt_le, Rinv_0_lt_compat, probability_pos, some]. }
  eapply Rle_trans; [|exact soft]; apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra].
Qed.

End Minima.
