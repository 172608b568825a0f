(** AEnt, Proposition 2: an almost stationary regularized policy is almost optimal, up to a bias.

        V*(q) - V(q) <= ||grad V_lambda(D)||_2^2/(2 lambda C) + lambda (h log n - log m),

    C the least (P(s) min_a pi(a|s)/|D|)^2 / P*(s) over the states s, m right responses of the largest
    return. It is true with 4 lambda for 2 lambda ([sharper]). Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues TreeLargest
  TreeGradientBounds Stationarity SoftOptimum SoftGap.
From Statements.aent Require proposition_2.
Open Scope R_scope.

Lemma squares_eq n h prompts z reward lambda :
  Statements.aent.proposition_2.square_of_soft_gradient n h prompts z reward lambda
  = regularized_gradient_squares n h prompts z reward lambda.
Proof.
  apply sum_ext; intros q _; apply sum_states_ext; intros s _; apply sum_ext; intros a _.
  assert (forall x y, x = y -> x / INR prompts * (x / INR prompts) = Rsqr (y / INR prompts)) as same
    by (intros x y ->; reflexivity).
  apply same; apply Rmult_assoc.
Qed.

Import Statements.aent.proposition_2.

Theorem sharper n h prompts z reward lambda q :
  (0 < n)%nat -> (0 < h)%nat -> 0 < lambda -> (q < prompts)%nat ->
  4 * lambda
  * (- largest_states n h (fun s => - ((probability n (z q) s * smallest n (softmax n (z q s))) ^ 2
       / probability n (soft_policy n h lambda (edge_reward h (reward q))) s)) / INR prompts ^ 2)
  * (gap n h prompts z reward q - entropy_bias n h prompts z reward lambda q)
  <= regularized_gradient_squares n h prompts z reward lambda.
Proof.
  intros some long positive inside.
  pose proof (soft_gap_by_state n h prompts z reward lambda q some long positive inside) as soft.
  assert (gap n h prompts z reward q
          <= soft_gap n h (z q) (reward q) lambda + entropy_bias n h prompts z reward lambda q) as bias.
  { unfold gap; rewrite (mean_responses_minus n h (z q) (fun _ => largest_responses n h (reward q))).
    rewrite mean_responses_const by exact some.
    unfold soft_gap; rewrite soft_policy_attains by assumption.
    apply (soft_bias n h (z q) (reward q) lambda (is_right n h prompts reward q)); try assumption.
    - destruct (largest_responses_attained n h (reward q) some) as (y & response & best).
      exists y; split; [exact response|]; unfold is_right, equal.
      destruct (Req_EM_T (reward q y) (largest_responses n h (reward q))); [reflexivity|congruence].
    - intros y _; unfold is_right, equal.
      destruct (Req_EM_T (reward q y) (largest_responses n h (reward q))); [trivial|discriminate]. }
  set (C := - largest_states n h _ / INR prompts ^ 2) in *.
  assert (0 <= C) as C_nonneg.
  { unfold C; assert (0 < INR prompts) by (apply lt_0_INR; lia).
    apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, pow_lt; assumption].
    destruct (smallest_state_attained n h (fun s =>
      (probability n (z q) s * smallest n (softmax n (z q s))) ^ 2
      / probability n (soft_policy n h lambda (edge_reward h (reward q))) s) some long) as (s & _ & ->).
    apply Rmult_le_pos; [apply pow2_ge_0|apply Rlt_le, Rinv_0_lt_compat, probability_pos, some]. }
  eapply Rle_trans; [|exact soft]; apply Rmult_le_compat_l; [|lra].
  apply Rmult_le_pos; [lra|assumption].
Qed.

Theorem proved : Statements.aent.proposition_2.statement.
Proof.
  intros n h prompts logits reward lambda several long _ positive q inside.
  assert (0 < n)%nat as some by lia.
  rewrite squares_eq.
  pose proof (sharper n h prompts logits reward lambda q some long positive inside) as bound.
  pose proof (regularized_gradient_squares_nonneg n h prompts logits reward lambda) as nonneg.
  unfold soft_constant, visits, soft_visits; lra.
Qed.
