(** AEnt, Lemma 2: baselines add nothing to a policy gradient.

    For any number b(s) of each state (on a tree the depth of a state is its time) and any path of the
    logits, E[sum_t (d log pi_t) b(s_t)] = 0, d log pi = v - E v; element by element it is REINFORCE's
    weight of the responses through a token, times b(s), less its share pi(a|s) of the state's. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.aent Require lemma_2.
Module Stated := Statements.aent.lemma_2.
Import ListNotations.
Open Scope R_scope.

Theorem baselines_add_nothing :
  forall (n h : nat) (z : policy) (baseline : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  (forall velocity : state -> vector,
     mean_responses n h z (sum_along (fun s a => centered_policy n z velocity s a * baseline s)) = 0) /\
  (forall s a, state_of n h s -> (a < n)%nat ->
     baseline s * sum_through n h z (fun _ => 1) (s ++ [a])
     - sum n (fun b => baseline s * sum_through n h z (fun _ => 1) (s ++ [b])) * softmax n (z s) a = 0).
Proof.
  intros n h z baseline several long; assert (0 < n)%nat as some by lia; split.
  - intros velocity; rewrite <- value_responses by assumption; apply value_mean_zero; intros s _.
    rewrite (mean_ext n _ _ (fun a => baseline s * centered_policy n z velocity s a)) by (intros; ring).
    rewrite mean_scal, mean_centered_policy by assumption; ring.
  - intros s a inside a_inside; rewrite probability_through, probability_child by assumption.
    rewrite (sum_ext n _ (fun b => baseline s * probability n z s * softmax n (z s) b)).
    + rewrite sum_scal, softmax_sum by assumption; ring.
    + intros b _; rewrite probability_through, probability_child by assumption; ring.
Qed.

Theorem proved : Statements.aent.lemma_2.statement.
Proof.
  unfold Stated.statement; intros n h logits baseline several long s inside a a_inside.
  assert (0 < n)%nat as some by lia; rewrite total_through_visits by assumption.
  rewrite (sum_ext n _ (fun b => probability n logits s * baseline s 0%nat * softmax n (logits s) b))
    by (intros; rewrite total_through_visits by assumption; ring).
  rewrite sum_scal, softmax_sum by assumption; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aent.lemma_2.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0
    end)); witnessed.
Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aent Require lemma_2.
From Trusted.Conditions.aent Require lemma_2.

Theorem baselines_add_nothing_witness : Conditions.aent.lemma_2.baselines_add_nothing_witness.
Proof. exists 2%nat, 1%nat; repeat (split; [met|]); exists [], 0%nat; met. Qed.
