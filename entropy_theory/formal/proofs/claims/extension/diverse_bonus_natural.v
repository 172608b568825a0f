(** Extension: a bonus on surprise among right answers under the natural gradient. Its step c x tempers the
    policy given a right answer and multiplies the odds of one by E_q e^{c x}, which is at least 1. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions Clamping DiverseBonus.
From Trusted.Statements.extension Require diverse_bonus_natural.
Open Scope R_scope.

Theorem proved : Statements.extension.diverse_bonus_natural.statement.
Proof.
  intros n z A c two members positive small.
  assert (same : forall y, Statements.extension.diverse_bonus_natural.diversity n y A = clamped_entropy n y A)
    by (intros y; apply (diversity_eq n y A members)).
  split; [split|split; [|split; [|split]]].
  - rewrite !same; apply (tempering_raises n z A members c); lra.
  - exact (growth_at_least_1 n z A members c).
  - exact (reward_after n z A members c).
  - replace 0 with ((1 - total_on n A (softmax n z)) * sum n (fun a => softmax n z a * surprise n z A a)) at 2
      by (rewrite (step_sum n z A members); ring).
    apply (reward_slope n z A members (surprise n z A)).
    intros a outside; unfold surprise; rewrite outside; reflexivity.
  - apply derivative_ext with (f := fun t => clamped_entropy n (fun a => z a + t * surprise n z A a) A).
    { intros t; symmetry; apply same. }
    replace (Statements.extension.diverse_bonus_natural.spread n z A)
      with (sum n (fun a => conditional n z A a * surprise n z A a * surprise n z A a)).
    + apply diversity_slope, members.
    + change (sum n (fun a => conditional n z A a * surprise n z A a * surprise n z A a)
              = covariance n (conditional n z A) z z).
      rewrite <- (mean_surprise_squared n z A); apply sum_ext; intros; ring.
  - replace (Statements.extension.diverse_bonus_natural.right_mass n z A
             * Statements.extension.diverse_bonus_natural.spread n z A)
      with (- sum n (fun a => own_covariance n z a * surprise n z A a)).
    + apply (entropy_slope n z A members (surprise n z A)).
    + rewrite (covariance_z_surprise n z A members).
      change (- - (total_on n A (softmax n z) * covariance n (conditional n z A) z z)
              = total_on n A (softmax n z) * covariance n (conditional n z A) z z); ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.diverse_bonus_natural.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1; witnessed. Qed.

Theorem defined : Statements.extension.diverse_bonus_natural.defined.
Proof.
  domains; apply nonzero_of_pos.
  match goal with |- 0 < 1 - Statements.extension.diverse_bonus_natural.right_mass ?n ?z ?A
                         + _ * Statements.extension.diverse_bonus_natural.odds_growth _ _ _ ?c =>
    destruct (proved n z A c ltac:(assumption) ltac:(assumption) ltac:(assumption) ltac:(assumption))
      as ((_ & grown) & _);
    assert (0 < Statements.extension.diverse_bonus_natural.right_mass n z A) by above_zero end.
  nra.
Qed.
