(** Entropy bounds the largest entry of the policy gradient: ||grad V||_inf <= H/(4 log 2) on every
    token tree with returns in [0, 1], and no smaller constant will do (extension of AEnt, Proposition
    1 (I)). *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Largest Inequalities Trees TreeValues TreeLargest
  TreeGradientBounds.
From Statements.extension Require Import gradient_entropy_linf.
Import ListNotations.
Open Scope R_scope.

Lemma value_gradient_formula n h z reward s a :
  value_gradient n h z reward s a = gradient_formula n h z reward s a.
Proof. unfold value_gradient, gradient_formula, advantage; ring. Qed.

Theorem proved : Statements.extension.gradient_entropy_linf.statement.
Proof.
  intros n h logits reward several long nonneg below; split.
  - unfold linf_norm.
    destruct (largest_states_attained n h (fun s => largest n (fun a =>
      Rabs (value_gradient n h logits reward s a)))) as (s & state & ->); [lia|lia|].
    destruct (largest_attained n (fun a => Rabs (value_gradient n h logits reward s a)))
      as (a & inside & ->); [lia|].
    rewrite value_gradient_formula; apply gradient_linf_le_entropy; [lia| |assumption|assumption].
    intros y response; split; auto.
  - intros direction; cbv beta.
    rewrite (sum_states_ext n h _ (fun s => sum n (fun a =>
      gradient_formula n h logits reward s a * direction s a))).
    + apply expected_return_along; lia.
    + intros s _; apply sum_ext; intros a _; rewrite value_gradient_formula; reflexivity.
Qed.

(** Equality at pi = (1/2, 1/2) and returns (1, 0). *)
Theorem attained :
  4 * ln 2 * Rabs (gradient_formula 2 1 even_policy first_is_right [] 0%nat)
  = response_entropy 2 1 even_policy.
Proof. rewrite even_entropy, even_gradient, Rabs_pos_eq by (lia || lra); field. Qed.
