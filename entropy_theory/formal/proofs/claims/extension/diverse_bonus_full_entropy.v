(** Extension: what a bonus on surprise among right answers does to the full entropy under the plain gradient.
    Where no wrong answer is likelier than a right one it never lowers it, to first order: its step is that of
    a bonus on the clamped entropy whose kept set is a top set. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions Masks Clamping DiverseBonus.
From Trusted.Statements.extension Require diverse_bonus_full_entropy.
Open Scope R_scope.

Theorem proved : Statements.extension.diverse_bonus_full_entropy.repair.
Proof.
  intros n z A two members top.
  pose proof (mass_pos n z A members) as positive.
  split.
  - apply Rmult_le_pos; [apply Rlt_le; exact positive|].
    apply (Clamping.rate_nonneg n z A members); intros a b a_inside b_inside a_right b_wrong.
    destruct (top b b_inside) as [b_right|not_above]; [congruence|].
    pose proof (smallest_on_le n A z a a_inside a_right); lra.
  - replace (Statements.extension.diverse_bonus_full_entropy.right_mass n z A
             * Statements.extension.diverse_bonus_full_entropy.rate n z A)
      with (- sum n (fun a => own_covariance n z a * (softmax n z a * surprise n z A a))).
    + apply (entropy_slope n z A members (fun a => softmax n z a * surprise n z A a)).
    + change (- sum n (fun a => own_covariance n z a * (softmax n z a * surprise n z A a))
              = total_on n A (softmax n z) * sum n (fun a => own_covariance n z a * clamped_tilt n z A a)).
      rewrite <- sum_scal, <- sum_opp; apply sum_ext; intros a _.
      rewrite (p_surprise n z A members a), (q_surprise n z A a); ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.diverse_bonus_full_entropy.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem defined : Statements.extension.diverse_bonus_full_entropy.defined.
Proof. domains. Qed.
