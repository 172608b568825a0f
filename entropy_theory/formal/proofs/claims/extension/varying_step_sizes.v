(** With varying step sizes the right answers are learned exactly if the sizes w = eta (1 + kappa) have no finite
    sum: along any run of exact expected steps of AEPO, with temperatures bounded below, 1 - p_k is at least
    (1 - p_0) exp(-(w_0 + ... + w_{k-1})), and tends to 0 if the sum of the w_k is infinite. An extension of
    AEPO's Section 4.2, for one state with independent logits. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Monotone Learning StepSizes
  LearningLimits StatementForms.
From Trusted.Statements.extension Require varying_step_sizes.
Open Scope R_scope.

(** The step sizes as they stand in the statement. *)
Lemma reach_form (rates weights : nat -> R) :
  (fun k => rates k * (weights k + 1)) = (fun k => rates k * (1 + weights k)).
Proof. apply functional_extensionality; intros k; ring. Qed.

Theorem proved : Statements.extension.varying_step_sizes.statement.
Proof.
  intros n logits correct temperature first_rate second_rate grpo_weight two some T_pos first_pos second_pos
    weight_nonneg not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  split; [|split; [|split]].
  - (* two steps *)
    set (w := fun k => if Nat.eqb k 0 then first_rate else second_rate).
    pose proof (wrong_mass_at_least n correct w 1 temperature (fun _ => temperature) (fun _ => grpo_weight) logits
                  some wrong) as bound.
    specialize (bound ltac:(intros k; unfold w; destruct (Nat.eqb k 0); lra) Rlt_0_1 T_pos
                  (fun _ => Rle_refl _) (fun _ => weight_nonneg) 2%nat).
    rewrite <- aepo_run_eq in bound; rewrite Rmult_comm; cbn in bound.
    replace (- (0 + first_rate * (grpo_weight + 1) + second_rate * (grpo_weight + 1)))
      with (- ((first_rate + second_rate) * (1 + grpo_weight))) in bound by ring.
    exact bound.
  - intros lowest lowest_pos temperatures range weights weights_nonneg rates rates_nonneg k.
    pose proof (wrong_mass_at_least n correct rates 1 lowest temperatures weights logits some wrong rates_nonneg
                  Rlt_0_1 lowest_pos range weights_nonneg k) as bound.
    rewrite <- aepo_run_eq, reach_form, Rmult_comm in bound.
    rewrite (run_sum (fun j => rates j * (1 + weights j))); exact bound.
  - intros lowest lowest_pos temperatures range weights weights_nonneg rates rates_nonneg endless.
    apply (endless_form (fun j => rates j * (1 + weights j))) in endless; rewrite <- reach_form in endless.
    pose proof (reward_tends_to_1 n correct rates 1 lowest temperatures weights logits some wrong rates_nonneg
                  Rlt_0_1 lowest_pos range weights_nonneg endless) as learned.
    pose proof (limsup_entropy n correct rates 1 lowest temperatures weights logits some wrong rates_nonneg
                  Rlt_0_1 lowest_pos range weights_nonneg endless) as ends.
    rewrite <- aepo_run_eq in learned, ends; exact (conj learned ends).
  - intros lowest lowest_pos temperatures range weights weights_nonneg rates rates_nonneg learned.
    apply (endless_form (fun j => rates j * (1 + weights j))); rewrite <- reach_form.
    apply (reward_at_1_diverges n correct rates 1 lowest temperatures weights logits some wrong rates_nonneg
             Rlt_0_1 lowest_pos range weights_nonneg).
    rewrite <- aepo_run_eq; exact learned.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.varying_step_sizes.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, 1, 1; witnessed. Qed.

Theorem witness_1 : Statements.extension.varying_step_sizes.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, 1, 1; limits_witnessed. Qed.

Lemma ones_are_endless bound : ~ forall k, run (fun j c => c + 1 * (1 + 1)) 0 k <= bound.
Proof. apply (endless_form (fun _ => 1 * (1 + 1))), constant_diverges; lra. Qed.

Theorem witness_2 : Statements.extension.varying_step_sizes.witness_2.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, 1, 1; repeat split; try solve [witnessed].
  exists 1; split; [lra|]; exists (fun _ => 1); split; [intros; lra|].
  exists (fun _ => 1); split; [intros; lra|]; exists (fun _ => 1); split; [intros; lra|].
  exact ones_are_endless.
Qed.

Theorem witness_3 : Statements.extension.varying_step_sizes.witness_3.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, 1, 1; repeat split; try solve [witnessed].
  exists 1; split; [lra|]; exists (fun _ => 1); split; [intros; lra|].
  exists (fun _ => 1); split; [intros; lra|]; exists (fun _ => 1); split; [intros; lra|].
  destruct (proved 2%nat (fun _ => 0) (fun a => Nat.eqb a 1) 2 1 1 1) as (_ & _ & learned & _);
    try solve [witnessed].
  apply (learned 1 Rlt_0_1 (fun _ => 1) (fun _ => Rle_refl 1) (fun _ => 1) ltac:(intros; lra) (fun _ => 1)
           ltac:(intros; lra) ones_are_endless).
Qed.

Theorem defined : Statements.extension.varying_step_sizes.defined.
Proof. domains. Qed.
