(** Tempered REINFORCE, with GRPO of any weight beside it, cannot hold entropy above log m, m the number of
    right answers: along any run of exact expected steps, whatever the temperatures (bounded below), every entropy
    is below the ceiling of the start, the reward tends to 1, and limsup H <= log m. An extension of AEPO's
    Section 4.2, for one state with independent logits. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Learning
  LearningLimits StatementForms.
From Trusted.Statements.extension Require entropy_ceiling.
Open Scope R_scope.

(** The same with any weight alpha of tempered REINFORCE. *)
Theorem for_any_weight :
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate alpha lowest : R)
    (temperature grpo_weight : nat -> R),
  nonempty n correct -> ~ everything n correct -> 0 < learning_rate -> 0 < alpha -> 0 < lowest ->
  (forall k, lowest <= temperature k) -> (forall k, 0 <= grpo_weight k) ->
  let path := aepo_run n correct (fun _ => learning_rate) alpha temperature grpo_weight logits in
  (forall k, entropy n (path k) <= ceiling n logits correct)
  /\ tends_to (fun k => total_on n correct (softmax n (path k))) 1
  /\ limsup_at_most (fun k => entropy n (path k)) (ln (count_on n correct)).
Proof.
  intros n logits correct learning_rate alpha lowest temperature grpo_weight some not_all
    rate_pos alpha_pos lowest_pos range weights path.
  pose proof (some_wrong n correct not_all) as wrong.
  pose proof (constant_reach_diverges learning_rate alpha grpo_weight rate_pos alpha_pos weights) as endless.
  pose proof (fun k : nat => Rlt_le _ _ rate_pos) as nonneg.
  repeat split.
  - intros k; apply (run_below_ceiling n correct (fun _ => learning_rate)) with (i := 0%nat); assumption || lia.
  - apply reward_tends_to_1 with (low := lowest); assumption.
  - apply limsup_entropy with (low := lowest); assumption.
Qed.

Theorem proved : Statements.extension.entropy_ceiling.statement.
Proof.
  intros n logits correct temperature learning_rate second_temperature grpo_weight two some T_pos rate_pos
    second_pos weight_pos not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  assert (forall y T, gap n logits correct <= gap n y correct ->
            gap n logits correct <= gap n (after_aepo_step n y correct T grpo_weight learning_rate) correct)
    as grows.
  { intros y T grown; rewrite after_aepo_step_eq; refine (Rle_trans _ _ _ grown _).
    apply gap_never_falls; assumption || lra. }
  assert (forall y, gap n logits correct <= gap n y correct -> entropy n y <= ceiling n logits correct) as below
    by (intros; apply entropy_at_most_ceiling; assumption).
  split.
  - repeat split; apply below; repeat apply grows; apply Rle_refl.
  - intros lowest lowest_pos temperatures range weights nonneg.
    pose proof (for_any_weight n logits correct learning_rate 1 lowest temperatures weights some not_all
                  rate_pos Rlt_0_1 lowest_pos range nonneg) as (every & reward & limit).
    rewrite <- aepo_run_eq in every, reward, limit.
    exact (conj (conj every reward) limit).
Qed.

From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.entropy_ceiling.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, (1 / 2), 1; witnessed. Qed.

Theorem witness_1 : Statements.extension.entropy_ceiling.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, (1 / 2), 1; limits_witnessed. Qed.

Theorem defined : Statements.extension.entropy_ceiling.defined.
Proof.
  domains.
  match goal with H : exp _ < Statements.extension.entropy_ceiling.count ?n _ ?A / INR ?n |- _ =>
    pose proof (count_on_at_most n A) as most; change (count_on n A <= INR n) in most;
    assert (0 < INR n) as actions by (apply lt_0_INR; lia);
    apply Rlt_div_r in H; [|exact actions];
    change (Statements.extension.entropy_ceiling.count n _ A) with (count_on n A) in H end.
  enough (exp (Statements.extension.entropy_ceiling.log_wrong_bound n logits correct) < 1) by lra.
  nra.
Qed.
