(** Extension of Entropy Mechanism, Lemma 1: the noise of SGD against that of independent logits, where one action is
    likely and all others are equally likely. *)

From Coq Require Import Reals Lra Lia Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks OneRight Noise NoiseShapes OneLikely.
From Trusted.Statements.extension Require score_noise.
Open Scope R_scope.

Section OneAction.

Variables (n : nat) (A : mask) (r : nat).
Hypothesis two : (2 <= n)%nat.
Hypothesis inside : (r < n)%nat.
Hypothesis chosen : A r = true.
Hypothesis alone : forall a, (a < n)%nat -> a <> r -> A a = false.

Let m := INR n - 1.
Let z (D : R) := Statements.extension.score_noise.dominated n D A.

Lemma counted D : Statements.extension.score_noise.count n (z D) (fun a => negb (A a)) = m.
Proof. exact (count_wrong n A r inside chosen alone). Qed.

Lemma closed_forms D :
  Statements.extension.score_noise.isotropic_effect n (z D) = isotropic_closed (likely D m) (rare D m) D m /\
  Statements.extension.score_noise.score_effect n (z D) = score_closed (likely D m) (rare D m) D m /\
  Statements.extension.score_noise.adam_effect n (z D) = adam_closed (likely D m) (rare D m) D m.
Proof.
  split; [|split].
  - exact (isotropic_is n A D two r inside chosen alone).
  - exact (score_is n A D two r inside chosen alone).
  - exact (adam_is n A D two r inside chosen alone).
Qed.

Lemma wrong_is D : total_on n (fun a => negb (A a)) (softmax n (z D)) = m * rare D m.
Proof. exact (total_wrong n A D two r inside chosen alone). Qed.

Lemma displaced_is D :
  sum n (fun a => softmax n (z D) a * (1 - softmax n (z D) a)) = m * rare D m * (1 + likely D m - rare D m).
Proof. exact (displaced n A D two r inside chosen alone). Qed.

End OneAction.

Lemma only_action n D A :
  nonempty n A -> Statements.extension.score_noise.count n (Statements.extension.score_noise.dominated n D A) A < 2 ->
  exists r, (r < n)%nat /\ A r = true /\ forall a, (a < n)%nat -> a <> r -> A a = false.
Proof. intros some few; exact (one_of_count n A some few). Qed.

Theorem proved : Statements.extension.score_noise.repair.
Proof.
  intros n A D two some ahead few.
  destruct (only_action n D A some few) as (r & inside & chosen & alone).
  pose proof (m_positive n two) as m_pos; set (m := INR n - 1) in *.
  pose proof (counted n A r inside chosen alone) as others.
  pose proof (closed_forms n A r two inside chosen alone) as closed.
  pose proof (wrong_is n A r two inside chosen alone) as wrong.
  pose proof (displaced_is n A r two inside chosen alone) as apart.
  split; [|split].
  - rewrite others; apply closed.
  - apply tends_to_limit.
    apply (is_lim_seq_ext (fun k => isotropic_closed (likely (INR (S k)) m) (rare (INR (S k)) m) (INR (S k)) m
                                    / (m * (m * rare (INR (S k)) m * INR (S k))))).
    + intros k; rewrite others, wrong, (proj1 (closed (INR (S k)))); reflexivity.
    + apply isotropic_limit, m_pos.
  - apply tends_to_limit.
    replace (INR n + 2) with (m + 3) by (unfold m; ring).
    apply (is_lim_seq_ext (fun k =>
      score_closed (likely (INR (S k)) m) (rare (INR (S k)) m) (INR (S k)) m
      / (m * rare (INR (S k)) m * (1 + likely (INR (S k)) m - rare (INR (S k)) m)
         * (m * rare (INR (S k)) m * INR (S k))))).
    + intros k; rewrite wrong, apart, (proj1 (proj2 (closed (INR (S k))))); reflexivity.
    + apply score_limit, m_pos.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.score_noise.witness.
Proof. exists 2%nat, (fun a => Nat.eqb a 0), 1; witnessed. Qed.

Theorem defined : Statements.extension.score_noise.defined.
Proof.
  intros n A D two some ahead few.
  destruct (only_action n D A some few) as (r & inside & chosen & alone).
  pose proof (m_positive n two) as m_pos; set (m := INR n - 1) in *.
  pose proof (counted n A r inside chosen alone) as others.
  pose proof (wrong_is n A r two inside chosen alone) as wrong.
  pose proof (displaced_is n A r two inside chosen alone) as apart.
  pose proof (rare_pos D m m_pos) as q_pos; pose proof (likely_pos D m m_pos) as p_pos.
  pose proof (likely_is D m m_pos) as fills; pose proof (rare_below_likely D m m_pos ahead) as order.
  assert (0 < m * rare D m) as e_pos by (apply Rmult_lt_0_compat; assumption).
  rewrite others; split; [|split; [|split; [|split; [|split; [|split]]]]].
  - apply Rgt_not_eq, below_pos, m_pos.
  - apply Rgt_not_eq, below_pos, m_pos.
  - intros a a_inside; pose proof (others_pos n (Statements.extension.score_noise.dominated n D A) two a a_inside)
      as positive; split.
    + apply Rgt_not_eq; exact positive.
    + apply Rlt_le, Rdiv_lt_0_compat; [apply softmax_pos; lia|exact positive].
  - assert (0 < 1 - rare D m) as below_one by lra.
    split; [exact (Rgt_not_eq _ _ e_pos)|split; [|split; [exact (Rgt_not_eq _ _ below_one)|]]].
    + exact (Rlt_le _ _ (Rdiv_lt_0_compat _ _ p_pos e_pos)).
    + exact (Rlt_le _ _ (Rdiv_lt_0_compat _ _ q_pos below_one)).
  - intros k; rewrite others, wrong; pose proof (gap_pos k); pose proof (rare_pos (INR (S k)) m m_pos).
    assert (0 < m * rare (INR (S k)) m) by (apply Rmult_lt_0_compat; assumption).
    apply Rgt_not_eq, Rmult_lt_0_compat; [assumption|apply Rmult_lt_0_compat; assumption].
  - lra.
  - intros k; rewrite wrong, apart; pose proof (gap_pos k) as gap; pose proof (rare_pos (INR (S k)) m m_pos).
    pose proof (rare_below_likely (INR (S k)) m m_pos gap).
    assert (0 < m * rare (INR (S k)) m) by (apply Rmult_lt_0_compat; assumption).
    apply Rgt_not_eq, Rmult_lt_0_compat; apply Rmult_lt_0_compat; try assumption; fold m; lra.
Qed.
