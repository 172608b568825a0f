(** Extension of AEPO, section 3.1: where the only right action is a likeliest one, no sampled group raises entropy. *)

From Coq Require Import Reals Lra Lia Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics Masks Monotone Curvature TemperedReinforce OwnCovariance EntropyChange OneRight.
From Trusted.Statements.extension Require solved_groups.
Open Scope R_scope.

Section Group.

Variables (n : nat) (z v : vector) (A : mask) (r : nat).
Hypothesis inside : (r < n)%nat.
Hypothesis chosen : A r = true.
Hypothesis alone : forall a, (a < n)%nat -> a <> r -> A a = false.
Hypothesis likeliest : forall a, (a < n)%nat -> z a <= z r.
Hypothesis nonneg : forall a, (a < n)%nat -> 0 <= v a.

Let some : (0 < n)%nat := Nat.le_lt_trans 0 r n (Nat.le_0_l r) inside.
Let wrong : mask := fun a => negb (A a).
Let d : vector := Statements.extension.solved_groups.blaming_step n v A.

Lemma step_right : d r = total_on n wrong v.
Proof. unfold d, Statements.extension.solved_groups.blaming_step; rewrite chosen; reflexivity. Qed.

Lemma step_wrong a : wrong a = true -> d a = - v a.
Proof.
  unfold wrong, d, Statements.extension.solved_groups.blaming_step; destruct (A a); [discriminate|reflexivity].
Qed.

Lemma step_right_nonneg : 0 <= d r.
Proof. rewrite step_right; apply total_on_nonneg; intros; apply nonneg; assumption. Qed.

Lemma stays_likeliest t a : 0 <= t -> (a < n)%nat -> line z d t a <= line z d t r.
Proof.
  intros later a_inside; unfold line; pose proof (likeliest a a_inside); pose proof step_right_nonneg.
  destruct (Nat.eq_dec a r) as [->|other]; [lra|].
  rewrite (step_wrong a) by (unfold wrong; rewrite alone by assumption; reflexivity).
  pose proof (nonneg a a_inside); nra.
Qed.

(** pi_a (z_a - E z) is largest at a likeliest action. *)
Lemma own_covariance_at_top y a :
  (a < n)%nat -> (forall b, (b < n)%nat -> y b <= y r) -> own_covariance n y a <= own_covariance n y r.
Proof.
  intros a_inside top; destruct (Rle_or_lt (mean n (softmax n y) y) (y a)) as [above|below].
  - apply own_covariance_le; [exact some|exact above|apply top, a_inside].
  - apply Rlt_le, Rlt_le_trans with 0; [apply own_covariance_neg; assumption|].
    unfold own_covariance, centered; apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|].
    enough (mean n (softmax n y) y <= y r) by lra.
    rewrite <- (mean_const n (softmax n y) (y r)) by apply softmax_sum, some.
    apply mean_le; [intros; apply Rlt_le, softmax_pos, some|exact top].
Qed.

Lemma goes_with_step y :
  (forall b, (b < n)%nat -> y b <= y r) -> 0 <= covariance n (softmax n y) y d.
Proof.
  intros top; rewrite covariance_centered_l by apply softmax_sum, some.
  replace (mean n (softmax n y) (fun a => centered n (softmax n y) y a * d a))
    with (sum n (fun a => own_covariance n y a * d a)) by (apply sum_ext; intros; unfold own_covariance; ring).
  rewrite (sum_apart n A r inside chosen alone), step_right; fold wrong.
  unfold total_on; rewrite <- sum_scal, <- sum_plus; apply sum_nonneg; intros a a_inside; unfold only.
  destruct (wrong a) eqn:is_wrong; [|lra].
  rewrite step_wrong by exact is_wrong.
  pose proof (own_covariance_at_top y a a_inside top); pose proof (nonneg a a_inside); nra.
Qed.

Theorem no_rise : entropy_change n z d <= 0.
Proof.
  assert (- entropy n (line z d 0) <= - entropy n (line z d 1)) as falls.
  { apply (nondecreasing_by_slope (fun t => - entropy n (line z d t))
      (fun t => covariance n (softmax n (line z d t)) (line z d t) d) 0 1); [lra| |].
    - intros t _; evar_last; [apply @is_derive_opp, (is_derive_entropy_along_line n z d some)|].
      rewrite covariance_log_softmax by (exact some || apply softmax_sum, some).
      unfold opp; simpl; ring.
    - intros t between; apply goes_with_step; intros; apply stays_likeliest; [lra|assumption]. }
  unfold entropy_change.
  replace (entropy n (moved_by z d)) with (entropy n (line z d 1)).
  2: { apply entropy_ext; intros; unfold line, moved_by; ring. }
  replace (entropy n z) with (entropy n (line z d 0)).
  2: { apply entropy_ext; intros; apply line_start. }
  lra.
Qed.

End Group.

Theorem proved : Statements.extension.solved_groups.statement.
Proof.
  intros n z A v two some_right nonneg some_wrong few likeliest.
  destruct (one_of_count n A some_right few) as (r & inside & chosen & alone).
  enough (entropy_change n z (Statements.extension.solved_groups.blaming_step n v A) <= 0) by lra.
  apply (no_rise n z v A r); try assumption.
  intros a a_inside; destruct (Nat.eq_dec a r) as [->|other]; [lra|].
  apply Rle_trans with (largest_on n (fun b => negb (A b)) z).
  - apply largest_on_ge; [assumption|rewrite alone by assumption; reflexivity].
  - apply Rle_trans with (1 := likeliest); apply smallest_on_le; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.solved_groups.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 0), (fun _ => 0); witnessed. Qed.
