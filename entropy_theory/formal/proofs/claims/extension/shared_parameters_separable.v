(** Where a direction of shared parameters raises each right logit over each wrong one at every prompt, exact policy
    gradient whose step sizes have no finite sum ends with each prompt solved or lost; and with all solved if the
    mean reward starts above 1 - 1/N. An extension of the one-state limits to logits that are linear in shared
    parameters. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks StepSizes SharedParameters SeparablePrompts.
From Trusted.Statements.extension Require shared_parameters_separable.
Open Scope R_scope.

Theorem proved : Statements.extension.shared_parameters_separable.statement.
Proof.
  intros n prompts parameters logits features theta correct direction two some_prompts some_parameters right wrong
    separated.
  assert (0 < n)%nat as some by lia.
  split; [|split].
  - exact (gradient_along n prompts parameters logits features correct some some_prompts theta direction).
  - intros rates (nonneg & allowed) endless.
    apply endless_form in endless.
    exact (undecided_vanishes n prompts parameters logits features correct some some_prompts rates theta
             direction nonneg (fun j => allowed j) separated endless).
  - intros rates (nonneg & allowed) (high & endless); apply endless_form in endless; split.
    + exact (mean_reward_tends_to_1 n prompts parameters logits features correct some some_prompts rates theta
               direction nonneg (fun j => allowed j) separated endless high).
    + exact (limsup_entropies n prompts parameters logits features correct some some_prompts right rates theta
               direction nonneg (fun j => allowed j) separated endless high).
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

(** Two answers to one prompt; one parameter raises the right one. *)
Ltac one_right_answer :=
  exists 2%nat, 1%nat, 1%nat, (fun _ _ => 0), (fun _ a _ => if Nat.eqb a 0 then 1 else 0), (fun _ => 0),
    (fun _ a => Nat.eqb a 0), (fun _ => 1);
  repeat split;
  [lia | lia | lia
  | intros; exists 0%nat; split; [lia|reflexivity]
  | intros; exists 1%nat; split; [lia|discriminate]
  | intros; unfold Statements.extension.shared_parameters_separable.separation, smallest_on; cbn; lra |..].

Lemma ones_are_allowed :
  (forall k : nat, 0 <= 1) /\
  (forall k q : nat, (q < 1)%nat -> forall a, (a < 2)%nat ->
     1 * sum 1 (fun m => (if Nat.eqb a 0 then 1 else 0) * (if Nat.eqb a 0 then 1 else 0)) <= 1).
Proof. split; intros; [lra|destruct (Nat.eqb a 0); simpl; lra]. Qed.

Lemma ones_are_endless bound : ~ forall k, run (fun j c => c + 1) 0 k <= bound.
Proof. apply (endless_form (fun _ => 1)), constant_diverges; lra. Qed.

Theorem witness : Statements.extension.shared_parameters_separable.witness.
Proof. one_right_answer. Qed.

Theorem witness_1 : Statements.extension.shared_parameters_separable.witness_1.
Proof. one_right_answer; exists (fun _ => 1); split; [exact ones_are_allowed|exact ones_are_endless]. Qed.

Theorem witness_2 : Statements.extension.shared_parameters_separable.witness_2.
Proof.
  one_right_answer; exists (fun _ => 1); split; [exact ones_are_allowed|split; [|exact ones_are_endless]].
  assert (0 < / (0 + exp (0 + (0 + 1 * 0)) + exp (0 + (0 + 0 * 0)))) as part.
  { apply Rinv_0_lt_compat; pose proof (exp_pos (0 + (0 + 1 * 0))); pose proof (exp_pos (0 + (0 + 0 * 0))); lra. }
  unfold Statements.extension.shared_parameters_separable.mean_reward,
    Statements.extension.shared_parameters_separable.shared_logits,
    Statements.extension.shared_parameters_separable.hits, mean, softmax; cbn; unfold Rdiv.
  pose proof (Rmult_lt_0_compat _ _ (exp_pos (0 + (0 + 1 * 0))) part); lra.
Qed.

Theorem defined : Statements.extension.shared_parameters_separable.defined.
Proof.
  intros n prompts parameters logits features theta correct direction two some_prompts some_parameters right wrong
    separated; domains.
  match goal with inside : (?q < prompts)%nat |- _ => destruct (right q inside) as (b & b_inside & chosen) end.
  apply total_on_pos; [exists b; split; assumption|intros; lra].
Qed.
