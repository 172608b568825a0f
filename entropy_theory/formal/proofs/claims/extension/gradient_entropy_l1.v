(** Entropy bounds the l1 norm of the policy gradient: ||grad V||_1 <= H/(2 log 2) on every token tree
    with returns in [0, 1], and no smaller constant will do (extension of AEnt, Proposition 1 (I)). *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Inequalities Trees TreeValues TreeLargest
  TreeGradientBounds.
From Trusted.Statements.extension Require Import gradient_entropy_l1.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.extension.gradient_entropy_l1.statement.
Proof.
  intros n h logits reward several long nonneg below.
  assert (value_gradient n h logits reward = gradient_of_value n h logits reward) as formula
    by apply value_gradient_formula.
  rewrite formula; split; [|intros direction; apply expected_return_along; lia].
  apply gradient_l1_le_entropy; [lia|]; intros y response; split; auto.
Qed.

(** Equality at pi = (1/2, 1/2) and returns (1, 0). *)
Theorem attained :
  2 * ln 2 * sum_states 2 1 (fun s => sum 2 (fun a =>
    Rabs (gradient_of_value 2 1 even_policy first_is_right s a)))
  = response_entropy 2 1 even_policy.
Proof.
  rewrite even_entropy; unfold sum_states; cbn [sum sum_responses].
  rewrite !even_gradient, Rabs_Ropp, Rabs_pos_eq by (lia || lra); field.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.gradient_entropy_l1.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)); witnessed.
Qed.

Theorem defined : Statements.extension.gradient_entropy_l1.defined.
Proof. domains. Qed.
