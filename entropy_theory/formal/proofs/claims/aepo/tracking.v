(** AEPO's introduction, approximating arbitrary functions, as repaired. Entropy has a speed limit:
    |log H' - log H| <= 2 eta (kappa + 1) in an exact expected step, at any temperature. With two right answers and
    the switch between 5/4 and 4/5, the distance e of the log-odds from their target becomes at most
    max(e - s, eta/8), s the step that temperature allows, plus what the target has moved meanwhile. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks TwoAnswers Learning SpeedLimit
  StatementForms.
From Trusted.Statements.aepo Require tracking.
Open Scope R_scope.

Theorem proved : Statements.aepo.tracking.repair.
Proof.
  intros n logits correct temperature target_gap learning_rate grpo_weight drift two some T_pos target_pos rate_pos
    weight_pos drift_pos.
  set (D := largest n logits - smallest n logits).
  change (Statements.aepo.tracking.logit_range n logits) with D.
  assert (0 <= D) as D_nonneg.
  { pose proof (largest_ge n logits 0 ltac:(lia)); pose proof (smallest_le n logits 0 ltac:(lia)); unfold D; lra. }
  set (f := speed D (switch_temperature (less (two_answer_entropy D) (two_answer_entropy target_gap)))).
  assert (Statements.aepo.tracking.switched_speed D target_gap = f) as ->.
  { unfold f; rewrite <- speed_form; [reflexivity|].
    unfold switch_temperature; destruct (less _ _); lra. }
  destruct (step_speed_limit n logits correct temperature grpo_weight 1 learning_rate ltac:(lia) ltac:(lra)
              ltac:(lra) ltac:(lra)) as (up & down).
  rewrite <- after_aepo_step_eq in up, down.
  pose proof (switch_step D target_gap learning_rate D_nonneg ltac:(lra) ltac:(lra)) as step; fold f in step.
  assert (Rabs (learning_rate * f) = learning_rate * Rabs f) as size
    by (rewrite Rabs_mult, Rabs_pos_eq by lra; reflexivity).
  rewrite size; split; [split; [exact up|split; [exact down|exact step]]|].
  intros next_target near.
  replace (D - learning_rate * f - next_target)
    with ((D - learning_rate * f - target_gap) + - (next_target - target_gap)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); rewrite Rabs_Ropp; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.aepo.tracking.witness.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), (5 / 4), 1, (1 / 100), 1, (1 / 10); witnessed.
Qed.

Theorem witness_1 : Statements.aepo.tracking.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), (5 / 4), 1, (1 / 100), 1, (1 / 10);
    limits_witnessed.
Qed.

Theorem defined : Statements.aepo.tracking.defined.
Proof. domains. Qed.
