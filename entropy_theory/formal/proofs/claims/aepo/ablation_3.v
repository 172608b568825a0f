(** AEPO, Section 6.2, ablation (3): with centered or group-normalized advantages on samples of pi^T, instead of
    rewards, the entropy on the right answers never rises, for any temperatures, learning rate and weights; and H
    tends to log k, k the number of likeliest right answers of the start, where temperatures stay in a range and the
    weight of the advantages stays away from zero. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Conditional TwoAnswers Learning
  Ablations SolvedFaceLimits AblationsLimits StatementForms.
From Trusted.Statements.aepo Require ablation_3.
Open Scope R_scope.

Theorem proved : Statements.aepo.ablation_3.statement.
Proof.
  intros n logits correct temperature learning_rate grpo_weight advantage_weight two some T_pos rate_pos weight_pos
    advantage_pos not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  assert (forall y T kappa w,
            Statements.aepo.ablation_3.after_advantage_step n y correct T kappa w learning_rate
            = moved learning_rate y (ablated_step n y correct T kappa w)) as same.
  { intros y T kappa w; rewrite <- ablated_step_form; reflexivity. }
  assert (forall y, Statements.aepo.ablation_3.conditional_entropy n y correct = conditional_entropy n y correct)
    as same_entropy by (intros y; rewrite <- (conditional_entropy_form n y correct some); reflexivity).
  assert (forall y T kappa w, 0 < T -> 0 <= kappa -> 0 <= w ->
            conditional_entropy n (moved learning_rate y (ablated_step n y correct T kappa w)) correct
            <= conditional_entropy n y correct) as falls.
  { intros; apply conditional_entropy_falls; try assumption; lra. }
  split; [split; [|split]|].
  - rewrite !same_entropy, same; apply falls; lra.
  - intros a a_inside b b_inside; rewrite same.
    destruct (correct a) eqn:a_right, (correct b) eqn:b_right; simpl; try lra; unfold moved.
    set (step := ablated_step n logits correct temperature grpo_weight advantage_weight).
    pose proof (draws_apart n logits correct temperature grpo_weight advantage_weight some wrong T_pos ltac:(lra)
                  ltac:(lra) a b a_inside b_inside a_right b_right) as apart; fold step in apart.
    replace (logits a + learning_rate * step a - logits a - (logits b + learning_rate * step b - logits b))
      with (learning_rate * (step a - step b)) by ring.
    rewrite <- Rmult_assoc, (Rmult_comm _ learning_rate), Rmult_assoc; apply Rmult_le_pos; lra.
  - rewrite same; apply gap_grows_too; assumption || lra.
  - intros lowest lowest_pos highest temperatures range grpo_weights grpo_nonneg weights enough.
    assert (forall k, 0 <= weights k) as weights_nonneg by (intros k; specialize (enough k); lra).
    split.
    + intros k; rewrite !same_entropy, same; apply falls; [specialize (range k); lra|auto|auto].
    + assert (run (fun j y => Statements.aepo.ablation_3.after_advantage_step n y correct (temperatures j)
                                (grpo_weights j) (weights j) learning_rate) logits
              = ablated_run n correct learning_rate temperatures grpo_weights weights logits) as runs.
      { unfold ablated_run; f_equal; apply functional_extensionality; intros j.
        apply functional_extensionality; intros y; apply same. }
      rewrite runs.
      refine (ablation_collapses n correct learning_rate lowest highest lowest temperatures grpo_weights weights
                logits some wrong rate_pos lowest_pos lowest_pos range grpo_nonneg weights_nonneg _).
      intros k; specialize (enough k); specialize (grpo_nonneg k); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.aepo.ablation_3.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, 1, 1; witnessed. Qed.

Theorem witness_1 : Statements.aepo.ablation_3.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, 1, 1; limits_witnessed. Qed.

Theorem defined : Statements.aepo.ablation_3.defined.
Proof. domains. Qed.
