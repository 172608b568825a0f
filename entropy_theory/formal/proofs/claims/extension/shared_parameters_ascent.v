(** Where prompts share parameters, an exact step of policy gradient with eta |F_qa|^2 <= 1 raises the mean reward
    by at least eta/2 |grad J|^2, and the gradient vanishes if the step sizes have no finite sum. An extension of
    the one-state results on entropy to logits that are linear in shared parameters. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics StepSizes SharedParameters.
From Trusted.Statements.extension Require shared_parameters_ascent.
Open Scope R_scope.

Theorem proved : Statements.extension.shared_parameters_ascent.statement.
Proof.
  intros n prompts parameters logits features theta reward learning_rate two some_prompts some_parameters least most
    rate_pos short.
  assert (0 < n)%nat as some by lia.
  assert (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> 0 <= reward q a <= 1) as range
    by (intros q q_inside a a_inside; split; [apply least|apply most]; assumption).
  split; [|split; [|split]].
  - pose proof (ascent n prompts parameters logits features reward some some_prompts range theta learning_rate
                  (Rlt_le _ _ rate_pos) short) as rise.
    match type of rise with ?before + ?gain <= ?after =>
      set (slope := square parameters (reward_gradient n prompts parameters logits features reward theta)) in rise;
      assert (learning_rate * slope / 2 <= after - before) as enough by lra end.
    exact enough.
  - intros direction.
    exact (derivative_mean_reward n prompts parameters logits features reward some theta direction).
  - intros rates (nonneg & allowed) k.
    exact (run_ascends n prompts parameters logits features reward some some_prompts range rates theta nonneg
             (fun j => allowed j) k).
  - intros rates (nonneg & allowed) endless.
    apply (gradient_vanishes n prompts parameters logits features reward some some_prompts range rates theta nonneg
             (fun j => allowed j)).
    apply endless_form; exact endless.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

(** Two answers to one prompt, whose logits are two parameters. *)
Lemma one_hot_short q a :
  (q < 1)%nat -> (a < 2)%nat ->
  1 * sum 2 (fun m => (if Nat.eqb a m then 1 else 0) * (if Nat.eqb a m then 1 else 0)) <= 1.
Proof. intros _ inside; destruct a as [|[|a]]; [simpl; lra|simpl; lra|lia]. Qed.

Ltac one_hot :=
  exists 2%nat, 1%nat, 2%nat, (fun _ _ => 0), (fun _ a m => if Nat.eqb a m then 1 else 0), (fun _ => 0),
    (fun _ a => if Nat.eqb a 0 then 1 else 0), 1;
  repeat split; try lia; try lra;
  try (intros q _ a _; destruct (Nat.eqb a 0); lra);
  try (intros; apply one_hot_short with (q := 0%nat); (assumption || lia)).

Theorem witness : Statements.extension.shared_parameters_ascent.witness.
Proof. one_hot. Qed.

Theorem witness_1 : Statements.extension.shared_parameters_ascent.witness_1.
Proof.
  one_hot; exists (fun _ => 1); split; [intros; lra|].
  intros; apply one_hot_short with (q := 0%nat); (assumption || lia).
Qed.

Theorem witness_2 : Statements.extension.shared_parameters_ascent.witness_2.
Proof.
  one_hot; exists (fun _ => 1); repeat split;
    [intros; lra|intros; apply one_hot_short with (q := 0%nat); (assumption || lia)|].
  apply (endless_form (fun _ => 1)), constant_diverges; lra.
Qed.

Theorem defined : Statements.extension.shared_parameters_ascent.defined.
Proof. domains. Qed.
