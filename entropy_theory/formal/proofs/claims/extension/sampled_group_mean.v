(** Extension of AEPO, section 3.1: the mean of the policy gradient that a group of independent responses estimates,
    without a baseline, with the mean of the other members, and with the group's own mean. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions Groups.
From PolicyEntropy.library Require Import Basics Calculus Directions SampledGroups Witnesses Domains.
From Trusted.Statements.extension Require sampled_group_mean.
Open Scope R_scope.

Lemma slope_of_reward n z reward v : (0 < n)%nat ->
  derivative (fun t => mean n (softmax n (fun b => z b + t * v b)) reward) 0 (covariance n (softmax n z) reward v).
Proof.
  intros some; apply derivative_of_is_derive; evar_last.
  - apply (is_derive_mean n (fun t b => z b + t * v b) v 0 some) with (f := fun _ => reward) (g := fun _ => 0).
    + intros; apply line_moves.
    + intros; apply @is_derive_const.
  - simpl; rewrite covariance_line_start, covariance_sym, mean_line_start, mean_const
      by apply softmax_sum, some; ring.
Qed.

Lemma slope_of_entropy n z reward : (0 < n)%nat ->
  derivative (fun t => entropy n (fun a => z a + t * (softmax n z a * centered n (softmax n z) reward a))) 0
    (covariance n (softmax n z) reward (entropy_gradient n z)).
Proof.
  intros some; apply derivative_of_is_derive; evar_last.
  - apply (is_derive_entropy_line n z (fun a => softmax n z a * centered n (softmax n z) reward a) some).
  - rewrite covariance_sym, !covariance_centered_l, <- mean_opp by apply softmax_sum, some.
    apply mean_ext; intros; rewrite entropy_gradient_eq by exact some; ring.
Qed.

Theorem proved : Statements.extension.sampled_group_mean.statement.
Proof.
  intros n logits reward direction two; assert (0 < n)%nat as some by lia.
  assert (plain : forall G, (1 <= G)%nat ->
    mean_along n G without_baseline logits reward direction = covariance n (softmax n logits) reward direction)
    by (intros; apply mean_without_baseline; assumption).
  assert (others : forall G, (2 <= G)%nat ->
    mean_along n G with_mean_of_others logits reward direction = covariance n (softmax n logits) reward direction)
    by (intros; apply mean_with_mean_of_others; assumption).
  assert (own : forall G v, (1 <= G)%nat ->
    mean_along n G with_group_mean logits reward v
    = covariance n (softmax n logits) reward v - covariance n (softmax n logits) reward v / INR G).
  { intros G v several; rewrite mean_with_group_mean by assumption; field; apply not_0_INR; lia. }
  split; [|split; [|split; [|split; [|split; [|split]]]]].
  - repeat split; try (apply plain || apply others; lia).
    + rewrite own by lia; simpl (INR 2); do 2 f_equal; lra.
    + rewrite own by lia; simpl (INR 3); do 2 f_equal; lra.
  - intros G several; apply plain, INR_le; simpl; lra.
  - intros G several; apply others, INR_le; simpl; lra.
  - intros G several; apply own, INR_le; simpl; lra.
  - apply slope_of_reward, some.
  - apply slope_of_entropy, some.
  - intros G several; apply own, INR_le; simpl; lra.
Qed.

Theorem witness : Statements.extension.sampled_group_mean.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); witnessed. Qed.

Theorem witness_1 : Statements.extension.sampled_group_mean.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); split; [witnessed|]; exists 1%nat; witnessed. Qed.

Theorem witness_2 : Statements.extension.sampled_group_mean.witness_2.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); split; [witnessed|]; exists 2%nat; witnessed. Qed.

Theorem witness_3 : Statements.extension.sampled_group_mean.witness_3.
Proof. exact witness_1. Qed.

Theorem witness_4 : Statements.extension.sampled_group_mean.witness_4.
Proof. exact witness_1. Qed.

Theorem defined : Statements.extension.sampled_group_mean.defined.
Proof. domains. Qed.
