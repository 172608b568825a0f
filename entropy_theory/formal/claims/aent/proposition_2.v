(** AEnt, Proposition 2: an almost stationary regularized policy is almost optimal, up to a bias.

        ||grad V_lambda(D)||_2 <= eps  implies
        V*(q) - V(q) <= eps^2/(2 lambda C) + lambda (h log n - log m)

    for C P*(s) <= (P(s) min_a pi(a|s)/|D|)^2 at every state, m right responses of the largest return.
    It is true with 4 lambda for 2 lambda ([sharper]). Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues
  TreeGradientBounds Stationarity SoftOptimum SoftGap.
Import ListNotations.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n h prompts : nat) (logits : nat -> policy) (reward : nat -> state -> R)
         (right : state -> bool) (best lambda C eps : R),
    (1 <= n)%nat -> (1 <= h)%nat -> 0 < lambda -> 0 < C ->
    sqrt (sum prompts (fun k => sum_states n h (fun s => sum n (fun a => Rsqr
      (probability n (logits k) s * (softmax n (logits k s) a
        * advantage n h (logits k) (regularized_edge n h (logits k) (reward k) lambda) s a)
       / INR prompts)))))
    <= eps ->
    forall q, (q < prompts)%nat ->
    (exists y, response_of n h y /\ right y = true) ->
    (forall y, response_of n h y -> reward q y <= best) ->
    (forall y, response_of n h y -> right y = true -> reward q y = best) ->
    let optimal := soft_policy n h lambda (edge_reward h (reward q)) in
    (forall s, state_of n h s ->
         C * probability n optimal s
         <= Rsqr (probability n (logits q) s * smallest n (softmax n (logits q s))) / Rsqr (INR prompts)) ->
    best - mean_responses n h (logits q) (reward q)
    <= eps * eps / (2 * lambda * C)
       + lambda * (INR h * ln (INR n) - ln (sum_responses n h (fun y => if right y then 1 else 0))).

Definition sharper : Prop :=
  forall (n h prompts : nat) (logits : nat -> policy) (reward : nat -> state -> R)
         (right : state -> bool) (best lambda C eps : R),
    (1 <= n)%nat -> (1 <= h)%nat -> 0 < lambda -> 0 < C ->
    sqrt (sum prompts (fun k => sum_states n h (fun s => sum n (fun a => Rsqr
      (probability n (logits k) s * (softmax n (logits k s) a
        * advantage n h (logits k) (regularized_edge n h (logits k) (reward k) lambda) s a)
       / INR prompts)))))
    <= eps ->
    forall q, (q < prompts)%nat ->
    (exists y, response_of n h y /\ right y = true) ->
    (forall y, response_of n h y -> reward q y <= best) ->
    (forall y, response_of n h y -> right y = true -> reward q y = best) ->
    let optimal := soft_policy n h lambda (edge_reward h (reward q)) in
    (forall s, state_of n h s ->
         C * probability n optimal s
         <= Rsqr (probability n (logits q) s * smallest n (softmax n (logits q s))) / Rsqr (INR prompts)) ->
    best - mean_responses n h (logits q) (reward q)
    <= eps * eps / (4 * lambda * C)
       + lambda * (INR h * ln (INR n) - ln (sum_responses n h (fun y => if right y then 1 else 0))).

Theorem proved_sharper : sharper.
Proof.
  unfold sharper; intros n h prompts logits reward right best lambda C eps some long positive C_pos near
    q inside found largest same small.
  pose proof (soft_bias n h (logits q) (reward q) lambda right best some long positive found same) as bias.
  rewrite <- soft_policy_attains in bias by assumption.
  pose proof (data_soft_gap_le n h prompts logits reward lambda some long positive q C inside small)
    as soft.
  pose proof (regularized_gradient_squares_nonneg n h prompts logits reward lambda) as nonneg.
  set (squares := regularized_gradient_squares n h prompts logits reward lambda) in *.
  change (sqrt squares <= eps) in near.
  assert (squares <= eps * eps) as at_most.
  { rewrite <- (sqrt_sqrt _ nonneg); apply Rmult_le_compat; try apply sqrt_pos; assumption. }
  eapply Rle_trans; [exact bias|apply Rplus_le_compat_r].
  assert (0 < 4 * lambda * C) as scale by nra.
  apply (Rmult_le_reg_l (4 * lambda * C)); [exact scale|].
  replace (4 * lambda * C * (eps * eps / (4 * lambda * C))) with (eps * eps) by (field; lra).
  unfold soft_gap in soft; lra.
Qed.

Theorem proved : statement.
Proof.
  unfold statement; intros n h prompts logits reward right best lambda C eps some long positive C_pos near
    q inside found largest same small.
  eapply Rle_trans;
    [apply (proved_sharper n h prompts logits reward right best lambda C eps); assumption|].
  apply Rplus_le_compat_r; unfold Rdiv; apply Rmult_le_compat_l; [apply Rle_0_sqr|].
  apply Rinv_le_contravar; nra.
Qed.
