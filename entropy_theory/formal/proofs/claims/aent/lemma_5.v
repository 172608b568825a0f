(** AEnt, Lemma 5 (A.32): the bias that an entropy bonus brings.

    m right responses, h tokens out of n, returns 1 and 0, lambda > 0. For every policy

        V* - V <= V*_lambda - V_lambda + lambda log(n^h/m),

    with V*_lambda the largest regularized value, and the soft policy, which attains it, has
    V* - V <= lambda log(n^h/m). The same for any returns: [soft_bias] in SoftOptimum.v. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities Trees TreeValues TreeLargest
  TreeGradientBounds SoftOptimum.
From Trusted.Statements.aent Require lemma_5.
Open Scope R_scope.

Theorem proved : Statements.aent.lemma_5.statement.
Proof.
  intros n h logits correct lambda several long found positive; assert (0 < n)%nat as some by lia.
  set (reward := fun y => if correct y then 1 else 0).
  set (optimal := soft_policy n h lambda (edge_reward h reward)).
  pose proof (soft_policy_attains n h reward lambda some long positive) as attained.
  fold optimal in attained.
  assert (largest_responses n h reward = 1) as top.
  { apply Rle_antisym.
    - destruct (largest_responses_attained n h reward some) as (y & _ & ->); unfold reward.
      destruct (correct y); lra.
    - destruct found as (y & response & here); pose proof (largest_responses_ge n h reward y response).
      unfold reward in *; rewrite here in *; lra. }
  assert (forall z, largest_responses n h reward - mean_responses n h z reward
    <= value_with_entropy n h optimal reward lambda - value_with_entropy n h z reward lambda
       + lambda * (INR h * ln (INR n) - ln (sum_responses n h reward))) as bias.
  { intros z; rewrite top, attained; apply soft_bias; try assumption.
    intros y _ here; unfold reward; rewrite here; reflexivity. }
  split; [split|].
  - apply bias.
  - specialize (bias optimal).
    change (Statements.aent.lemma_5.true_gap n h optimal reward)
      with (largest_responses n h reward - mean_responses n h optimal reward).
    lra.
  - intros other; change (value_with_entropy n h other reward lambda
                          <= value_with_entropy n h optimal reward lambda).
    rewrite attained; apply soft_value_is_largest; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains TreeDomains.

Theorem witness : Statements.aent.lemma_5.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => Nat.eqb (List.hd 0%nat y) 1), 1; witnessed.
Qed.

Theorem defined : Statements.aent.lemma_5.defined.
Proof. domains. Qed.
