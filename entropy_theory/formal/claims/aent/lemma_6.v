(** AEnt, Lemma 6 (A.39): a small regularized gradient means a small soft gap.

        V*_lambda(q) - V_lambda(q) <= ||grad V_lambda(D)||_2^2/(2 lambda C)

    for each of three constants C: by state, the largest with C P*(s) <= (P(s) min_a pi(a|s)/|D|)^2 at
    every state; by ratio, min P times min pi^2 times the least ratio of P to P*, over |D|^2 |S|; by
    response, (min_y pi(y)/|D|)^2.
    Minima are stated as numbers that are nowhere exceeded. P and P* are the visits of the policy and of
    the soft policy, which attains the largest regularized value. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues
  TreeGradientBounds Stationarity SoftOptimum SoftGap.
Import ListNotations.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n h prompts : nat) (logits : nat -> policy) (reward : nat -> state -> R) (lambda : R),
    (1 <= n)%nat -> (1 <= h)%nat -> 0 < lambda ->
    forall q, (q < prompts)%nat ->
    let optimal := soft_policy n h lambda (edge_reward h (reward q)) in
    let gap := regularized_value n h optimal (reward q) lambda
               - regularized_value n h (logits q) (reward q) lambda in
    let squares := sum prompts (fun k => sum_states n h (fun s => sum n (fun a => Rsqr
      (probability n (logits k) s * (softmax n (logits k s) a
        * advantage n h (logits k) (regularized_edge n h (logits k) (reward k) lambda) s a)
       / INR prompts)))) in
    (forall C,
       (forall s, state_of n h s ->
         C * probability n optimal s
         <= Rsqr (probability n (logits q) s * smallest n (softmax n (logits q s))) / Rsqr (INR prompts)) ->
       2 * lambda * C * gap <= squares) /\
    (forall visit token ratio,
       0 <= visit -> 0 <= token -> 0 <= ratio ->
       (forall s, state_of n h s -> visit <= probability n (logits q) s) ->
       (forall s a, state_of n h s -> (a < n)%nat -> token <= softmax n (logits q s) a) ->
       (forall s, state_of n h s -> ratio * probability n optimal s <= probability n (logits q) s) ->
       2 * lambda
       * (visit * (token * token) * ratio / sum_states n h (fun _ => 1) / Rsqr (INR prompts))
       * gap <= squares) /\
    (forall least,
       0 <= least -> (forall y, response_of n h y -> least <= probability n (logits q) y) ->
       2 * lambda * Rsqr (least / INR prompts) * gap <= squares).

Theorem proved : statement.
Proof.
  unfold statement; intros n h prompts logits reward lambda some long positive q inside.
  assert (0 < INR prompts) as many by (apply lt_0_INR; lia).
  assert (0 < / Rsqr (INR prompts)) as share by (apply Rinv_0_lt_compat; unfold Rsqr; nra).
  split; [|split].
  - intros C; apply data_soft_gap_le_printed; assumption.
  - intros visit token ratio visit_nonneg token_nonneg ratio_nonneg visits tokens ratios.
    apply data_soft_gap_le_printed; try assumption; intros s state.
    pose proof (ratio_constant n h (logits q) (soft_policy n h lambda (edge_reward h (reward q))) some
      visit token ratio visit_nonneg token_nonneg ratio_nonneg visits tokens ratios s state) as bound.
    apply (Rmult_le_compat_r (/ Rsqr (INR prompts))) in bound; [|lra].
    unfold Rdiv in *; lra.
  - intros least nonneg responses.
    apply data_soft_gap_le_printed; try assumption; intros s state.
    pose proof (response_constant n h (logits q) (soft_policy n h lambda (edge_reward h (reward q))) some
      least nonneg responses s state) as bound.
    apply (Rmult_le_compat_r (/ Rsqr (INR prompts))) in bound; [|lra].
    replace (Rsqr (least / INR prompts)) with (least * least * / Rsqr (INR prompts))
      by (unfold Rsqr; field; lra).
    unfold Rdiv; lra.
Qed.
