(** AEnt, Lemma 5 (A.32): the bias that an entropy bonus brings.

    m right responses of the largest return, h tokens out of n, lambda > 0. For every policy

        V* - V <= V*_lambda - V_lambda + lambda log(n^h/m),

    with V*_lambda the largest regularized value, and the soft policy, which attains it, has
    V* - V <= lambda log(n^h/m). Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues
  TreeGradientBounds SoftOptimum.
Import ListNotations.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n h : nat) (logits : policy) (reward : state -> R) (right : state -> bool)
         (best lambda : R),
    (1 <= n)%nat -> (1 <= h)%nat -> 0 < lambda ->
    (exists y, response_of n h y /\ right y = true) ->
    (forall y, response_of n h y -> reward y <= best) ->
    (forall y, response_of n h y -> right y = true -> reward y = best) ->
    let optimal := soft_policy n h lambda (edge_reward h reward) in
    let bias :=
      lambda * (INR h * ln (INR n) - ln (sum_responses n h (fun y => if right y then 1 else 0))) in
    (forall other, regularized_value n h other reward lambda
                   <= regularized_value n h optimal reward lambda) /\
    best - mean_responses n h logits reward
      <= regularized_value n h optimal reward lambda - regularized_value n h logits reward lambda + bias /\
    best - mean_responses n h optimal reward <= bias.

Theorem proved : statement.
Proof.
  unfold statement; intros n h logits reward right best lambda some long positive found _ same.
  set (optimal := soft_policy n h lambda (edge_reward h reward)).
  pose proof (soft_policy_attains n h reward lambda some long positive) as attained.
  fold optimal in attained; split; [|split].
  - intros other; rewrite attained; apply soft_value_is_largest; assumption.
  - rewrite attained; apply soft_bias; assumption.
  - pose proof (soft_bias n h optimal reward lambda right best some long positive found same); lra.
Qed.
