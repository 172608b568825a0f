(** AEPO, section 4.1 and Figure 2, repaired: where every action is correct and the logits have a range R <= 1 with
    e^{2 R alpha} + e^{-2 R beta} <= 2, alpha = 1 - 1/T_high and beta = 1/T_low - 1, entropy rises more slowly at T_high
    than it falls at T_low: F(T_high) <= |F(T_low)|. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Tilt TemperedReinforce OwnCovariance
  TemperedRate Asymmetry.
From Trusted.Statements.aepo Require asymmetry.
Open Scope R_scope.

Lemma sum_of_excess_at n z T :
  (0 < n)%nat -> 0 < T ->
  sum n (fun a => softmax n (tempered T z) a * excess n z a)
  = mean n (softmax n (fun a => / T * z a)) (own_covariance n z)
    - mean n (softmax n (fun a => 1 * z a)) (own_covariance n z).
Proof.
  intros some positive.
  change (mean n (softmax n (tempered T z)) (excess n z)
          = mean n (softmax n (fun a => / T * z a)) (own_covariance n z)
            - mean n (softmax n (fun a => 1 * z a)) (own_covariance n z)).
  rewrite (mean_softmax_ext n (tempered T z) (fun a => / T * z a))
    by (intros; unfold tempered, Rdiv; ring).
  rewrite (mean_softmax_ext n (fun a => 1 * z a) z) by (intros; ring).
  unfold excess, centered; rewrite mean_minus, mean_const by (apply softmax_sum, some); reflexivity.
Qed.

Theorem surplus :
  forall (n : nat) (logits : vector) (temperature_high temperature_low : R),
  (1 <= n)%nat -> 0 < temperature_high -> 0 < temperature_low ->
  0 <= 1 - (largest n logits - smallest n logits) ->
  0 <= 2 - exp (2 * (largest n logits - smallest n logits) * (1 - 1 / temperature_high))
         - exp (- (2 * (largest n logits - smallest n logits)) * (1 / temperature_low - 1)) ->
  0 <= sum n (fun a =>
         (softmax n (tempered temperature_low logits) a - softmax n logits a
          + (softmax n (tempered temperature_high logits) a - softmax n logits a))
         * excess n logits a).
Proof.
  intros n logits high low some high_pos low_pos narrow flat.
  assert (0 < n)%nat as n_pos by lia.
  rewrite (sum_ext n _ (fun a => softmax n (tempered low logits) a * excess n logits a
                                 + softmax n (tempered high logits) a * excess n logits a
                                 - 2 * (softmax n logits a * excess n logits a))) by (intros; ring).
  rewrite sum_minus, sum_plus, sum_scal, !sum_of_excess_at by assumption.
  pose proof (mean_excess n logits n_pos) as zero; unfold mean in zero; rewrite zero.
  pose proof (mean_moves_less n logits n_pos (1 - 1 / high) (1 / low - 1) ltac:(lra) ltac:(lra)) as moves.
  replace (1 - (1 - 1 / high)) with (/ high) in moves by (field; lra).
  replace (1 + (1 / low - 1)) with (/ low) in moves by (field; lra).
  lra.
Qed.

(** The sum is -F(T_low) - F(T_high), and so the claim in its own words: |F(T_low)| = -F(T_low) >= F(T_high). *)
Theorem rates :
  forall (n : nat) (logits : vector) (correct : mask) (temperature_high temperature_low : R),
  (1 <= n)%nat -> everything n correct -> 1 <= temperature_high -> 0 < temperature_low -> temperature_low <= 1 ->
  0 <= 1 - (largest n logits - smallest n logits) ->
  0 <= 2 - exp (2 * (largest n logits - smallest n logits) * (1 - 1 / temperature_high))
         - exp (- (2 * (largest n logits - smallest n logits)) * (1 / temperature_low - 1)) ->
  0 <= rate n logits correct temperature_high /\ rate n logits correct temperature_low <= 0 /\
  rate n logits correct temperature_high <= Rabs (rate n logits correct temperature_low).
Proof.
  intros n logits correct high low some all hot low_pos cold narrow flat.
  assert (0 < n)%nat as n_pos by lia.
  pose proof (surplus n logits high low some ltac:(lra) low_pos narrow flat) as surplus.
  rewrite (sum_ext n _ (fun a => softmax n (tempered low logits) a * excess n logits a
                                 + softmax n (tempered high logits) a * excess n logits a
                                 - 2 * (softmax n logits a * excess n logits a))) in surplus by (intros; ring).
  rewrite sum_minus, sum_plus, sum_scal in surplus.
  pose proof (mean_excess n logits n_pos) as zero; unfold mean in zero; rewrite zero in surplus.
  assert (rate n logits correct 1 = 0) as at_one.
  { rewrite rate_1; unfold untempered_rate; rewrite total_on_everything, zero by assumption; ring. }
  assert (0 <= rate n logits correct high).
  { apply Rnot_lt_le; intros falls.
    pose proof (rate_was_negative n logits correct n_pos 1 high ltac:(lra) hot falls); lra. }
  assert (rate n logits correct low <= 0).
  { apply Rnot_lt_le; intros rises.
    pose proof (rate_stays_positive n logits correct n_pos low 1 low_pos cold rises); lra. }
  repeat split; [assumption|assumption|].
  rewrite Rabs_left1 by assumption.
  unfold rate in *; rewrite !total_on_everything in * by assumption; lra.
Qed.

Theorem proved : Statements.aepo.asymmetry.repair.
Proof.
  intros n logits high low many hot positive cold _ narrow flat.
  change (largest n logits - smallest n logits <= 1) in narrow.
  change (exp (2 * (largest n logits - smallest n logits) * (1 - 1 / high))
          + exp (- (2 * (largest n logits - smallest n logits)) * (1 / low - 1)) <= 2) in flat.
  split; [apply surplus; lia || lra|].
  assert (everything n (fun _ => true)) as all by (intros a _; reflexivity).
  destruct (rates n logits (fun _ => true) high low ltac:(lia) all ltac:(lra) positive ltac:(lra) ltac:(lra) ltac:(lra))
    as (rises & falls & slower).
  repeat split; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.asymmetry.witness.
Proof. exists 2%nat, (fun _ => 0), (6 / 5), (4 / 5); witnessed. Qed.

Theorem defined : Statements.aepo.asymmetry.defined.
Proof. domains. Qed.
