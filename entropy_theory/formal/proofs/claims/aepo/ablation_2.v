(** AEPO, Section 6.1, ablation (2), as repaired: with samples at T = 1, which is GRPO with a larger step, the
    entropy on the right answers never rises, for any learning rate and weight, and H tends to log k, k the number
    of likeliest right answers of the start. As printed, for the whole entropy at every step, it is false. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Conditional TwoAnswers Learning
  Ablations SolvedFaceLimits AblationsLimits StatementForms.
From Trusted.Statements.aepo Require ablation_2.
Open Scope R_scope.

Theorem proved : Statements.aepo.ablation_2.repair.
Proof.
  intros n logits correct learning_rate grpo_weight two some rate_pos weight_pos not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  set (kappa := grpo_weight + 1).
  assert (forall y, Statements.aepo.ablation_2.after_plain_step n y correct grpo_weight learning_rate
            = moved learning_rate y (ablated_step n y correct 1 kappa 0)) as same.
  { intros y; rewrite <- plain_ablated_step; reflexivity. }
  assert (forall y, Statements.aepo.ablation_2.conditional_entropy n y correct = conditional_entropy n y correct)
    as same_entropy by (intros y; rewrite <- (conditional_entropy_form n y correct some); reflexivity).
  assert (0 <= kappa) as kappa_nonneg by (unfold kappa; lra).
  assert (forall y, conditional_entropy n (moved learning_rate y (ablated_step n y correct 1 kappa 0)) correct
            <= conditional_entropy n y correct) as falls.
  { intros y; apply conditional_entropy_falls; try assumption; lra. }
  split; [split; [|split]|split].
  - rewrite !same_entropy, same; apply falls.
  - intros a a_inside b b_inside; rewrite same.
    destruct (correct a) eqn:a_right, (correct b) eqn:b_right; simpl; try lra; unfold moved.
    pose proof (draws_apart n logits correct 1 kappa 0 some wrong Rlt_0_1 kappa_nonneg (Rle_refl 0)
                  a b a_inside b_inside a_right b_right) as apart.
    replace (logits a + learning_rate * ablated_step n logits correct 1 kappa 0 a - logits a
             - (logits b + learning_rate * ablated_step n logits correct 1 kappa 0 b - logits b))
      with (learning_rate * (ablated_step n logits correct 1 kappa 0 a - ablated_step n logits correct 1 kappa 0 b))
      by ring.
    rewrite <- Rmult_assoc, (Rmult_comm _ learning_rate), Rmult_assoc; apply Rmult_le_pos; lra.
  - rewrite same; exact (gap_grows_too n logits correct 1 kappa 0 learning_rate some wrong kappa_nonneg (Rle_refl 0)
                           (Rlt_le _ _ rate_pos)).
  - intros k; rewrite !same_entropy, same; apply falls.
  - assert (run (fun _ y => Statements.aepo.ablation_2.after_plain_step n y correct grpo_weight learning_rate) logits
            = ablated_run n correct learning_rate (fun _ => 1) (fun _ => kappa) (fun _ => 0) logits) as runs.
    { unfold ablated_run; f_equal; apply functional_extensionality; intros j.
      apply functional_extensionality; intros y; apply same. }
    rewrite runs.
    exact (ablation_collapses n correct learning_rate 1 1 1 (fun _ => 1) (fun _ => kappa) (fun _ => 0) logits
             some wrong rate_pos Rlt_0_1 Rlt_0_1 (fun _ => conj (Rle_refl 1) (Rle_refl 1)) (fun _ => kappa_nonneg)
             (fun _ => Rle_refl 0) (fun _ => ltac:(unfold kappa; lra))).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.ablation_2.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, 1; witnessed. Qed.

Theorem defined : Statements.aepo.ablation_2.defined.
Proof. domains. Qed.
