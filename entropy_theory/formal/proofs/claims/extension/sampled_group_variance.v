(** Extension of AEPO, section 3.1: the variance of the policy gradient that a group of independent responses
    estimates, without a baseline, with the mean of the other members, and with the group's own mean. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions Groups.
From PolicyEntropy.library Require Import Basics SampledGroups Witnesses Domains.
From Trusted.Statements.extension Require sampled_group_variance.
Open Scope R_scope.

Theorem proved : Statements.extension.sampled_group_variance.statement.
Proof.
  intros n logits reward direction two; assert (0 < n)%nat as some by lia.
  pose proof (variance_without_baseline n logits some reward direction) as plain.
  pose proof (variance_with_mean_of_others n logits some reward direction) as others.
  pose proof (variance_with_group_mean n logits some reward direction) as own.
  unfold variance_of_others in others, own.
  assert (INR 2 = 2 /\ INR 3 = 3) as [is_2 is_3] by (simpl; split; lra).
  split; [|split; [|split]].
  - repeat split.
    + rewrite plain, is_2 by lia; reflexivity.
    + rewrite others, is_2 by lia; field.
    + rewrite own, is_2 by lia; field.
    + rewrite plain, is_3 by lia; reflexivity.
    + rewrite others, is_3 by lia; field.
    + rewrite own, is_3 by lia; field.
  - intros G several; apply (INR_le 2) in several; apply plain; lia.
  - intros G several; apply (INR_le 2) in several; apply others, several.
  - intros G several; apply (INR_le 2) in several; apply own, several.
Qed.

Theorem witness : Statements.extension.sampled_group_variance.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); witnessed. Qed.

Theorem witness_1 : Statements.extension.sampled_group_variance.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); split; [witnessed|]; exists 2%nat; witnessed. Qed.

Theorem witness_2 : Statements.extension.sampled_group_variance.witness_2.
Proof. exact witness_1. Qed.

Theorem witness_3 : Statements.extension.sampled_group_variance.witness_3.
Proof. exact witness_1. Qed.

Theorem defined : Statements.extension.sampled_group_variance.defined.
Proof.
  domains; match goal with |- INR ?k * (INR ?k - 1) <> 0 =>
    assert (0 < INR k * (INR k - 1)) by (apply Rmult_lt_0_compat; lra); lra end.
Qed.
