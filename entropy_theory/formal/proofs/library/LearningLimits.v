(** Along a run of exact expected steps of AEPO, whatever the temperatures, the ceiling of the start bounds every
    entropy; and the right answers are learned (1 - p tends to zero, limsup H <= log m) exactly if the step sizes
    eta (kappa + alpha) have no finite sum. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional RightAnswers
  Concentration Learning StepSizes.
Open Scope R_scope.

(** A gap that has not fallen keeps the right answers alive at every temperature of a range. *)
Lemma right_mass_from_gap n A start z T low :
  nonempty n A -> nonempty n (complement A) -> 0 < low -> low <= T -> gap n start A <= gap n z A ->
  / (1 + count_on n (complement A) / count_on n A * exp (Rabs (gap n start A) / low))
  <= total_on n A (softmax n (tempered T z)).
Proof.
  intros some wrong low_pos above grown.
  pose proof (count_on_pos n A some) as m_pos; set (m := count_on n A) in *.
  pose proof (count_on_pos n (complement A) wrong) as others_pos; set (others := count_on n (complement A)) in *.
  set (depth := Rabs (gap n start A) / low).
  pose proof (Rdiv_lt_0_compat _ _ others_pos m_pos) as odds_pos.
  apply Rle_trans with (/ (1 + others / m * exp (- gap n (tempered T z) A))).
  2: exact (right_mass_at_least n (tempered T z) A some wrong).
  assert (- gap n (tempered T z) A <= depth) as shallow.
  { rewrite gap_tempered by (assumption || lra).
    assert (- gap n z A <= Rabs (gap n start A)) as bound.
    { pose proof (Rle_abs (- gap n start A)) as bound; rewrite Rabs_Ropp in bound; lra. }
    unfold depth; apply Rmult_le_reg_r with T; [lra|].
    replace (- (gap n z A / T) * T) with (- gap n z A) by (field; lra).
    apply Rle_trans with (1 := bound).
    replace (Rabs (gap n start A) / low * T) with (Rabs (gap n start A) * (T / low)) by (field; lra).
    rewrite <- (Rmult_1_r (Rabs (gap n start A))) at 1.
    apply Rmult_le_compat_l; [apply Rabs_pos|].
    apply Rmult_le_reg_r with low; [assumption|].
    replace (T / low * low) with T by (field; lra); lra. }
  apply Rinv_le_contravar.
  - pose proof (Rmult_lt_0_compat _ _ odds_pos (exp_pos (- gap n (tempered T z) A))); lra.
  - apply Rplus_le_compat_l, Rmult_le_compat_l; [lra|apply exp_le, shallow].
Qed.

Section Run.

Variables (n : nat) (A : mask) (eta : nat -> R) (alpha low : R) (temperature kappa : nat -> R) (start : vector).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).
Hypothesis eta_nonneg : forall k, 0 <= eta k.
Hypothesis alpha_pos : 0 < alpha.
Hypothesis low_pos : 0 < low.
Hypothesis range : forall k, low <= temperature k.
Hypothesis kappa_nonneg : forall k, 0 <= kappa k.

Let z := aepo_run n A eta alpha temperature kappa start.
Let m := count_on n A.
Let others := count_on n (complement A).
Let wrong_mass (k : nat) := total_on n (complement A) (softmax n (z k)).

(** What a step moves logits apart by, at most. *)
Let reach (k : nat) := eta k * (kappa k + alpha).

Lemma run_gap_step k : gap n (z k) A <= gap n (z (S k)) A.
Proof. apply gap_never_falls; auto; lra. Qed.

Lemma run_gap_never_falls i j : (i <= j)%nat -> gap n (z i) A <= gap n (z j) A.
Proof. apply (rises_from (fun k => gap n (z k) A)), run_gap_step. Qed.

(** Every entropy of the run is below the ceiling of each policy before it. *)
Lemma run_below_ceiling i j : (i <= j)%nat -> entropy n (z j) <= ceiling n (z i) A.
Proof.
  intros later; apply entropy_at_most_ceiling; [assumption|assumption|].
  apply run_gap_never_falls, later.
Qed.

(** The right answers keep a positive probability at every temperature of the range, and at any other. *)
Lemma run_right_mass_at_least T : 0 < T ->
  exists least, 0 < least /\
    forall k, least <= total_on n A (softmax n (tempered (temperature k) (z k)))
              /\ least <= total_on n A (softmax n (tempered T (z k))).
Proof.
  intros T_pos; set (lower := Rmin low T).
  assert (0 < lower) as lower_pos by (apply Rmin_glb_lt; assumption).
  exists (/ (1 + others / m * exp (Rabs (gap n start A) / lower))); split.
  - pose proof (Rdiv_lt_0_compat _ _ (count_on_pos n (complement A) wrong) (count_on_pos n A some)) as odds_pos.
    apply Rinv_0_lt_compat; pose proof (Rmult_lt_0_compat _ _ odds_pos (exp_pos (Rabs (gap n start A) / lower)));
      unfold others, m; lra.
  - intros k; pose proof (run_gap_never_falls 0 k ltac:(lia)) as grown.
    pose proof (Rmin_l low T) as most; pose proof (Rmin_r low T) as at_most; fold lower in most, at_most.
    specialize (range k).
    split; apply right_mass_from_gap; assumption || lra.
Qed.

(** 1 - p falls no faster than step sizes allow. *)
Lemma run_wrong_mass_step k : exp (- reach k) * wrong_mass k <= wrong_mass (S k).
Proof.
  apply wrong_mass_stays; try assumption; auto; [lra|]; specialize (range k); lra.
Qed.

Theorem wrong_mass_at_least k : exp (- sum k reach) * wrong_mass 0 <= wrong_mass k.
Proof.
  induction k as [|k IH]; [simpl; rewrite Ropp_0, exp_0; lra|].
  apply Rle_trans with (2 := run_wrong_mass_step k).
  simpl sum; replace (- (sum k reach + reach k)) with (- reach k + - sum k reach) by ring.
  rewrite exp_plus, Rmult_assoc; apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|exact IH].
Qed.

(** p tends to 1: no temperatures keep the wrong answers alive. *)
Theorem wrong_mass_vanishes : diverges reach -> tends_to wrong_mass 0.
Proof.
  intros endless; destruct (run_right_mass_at_least 1 Rlt_0_1) as (least & least_pos & right).
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof (count_on_pos n (complement A) wrong) as others_pos; fold others in others_pos.
  assert (forall k, 0 <= reach k) as reach_nonneg.
  { intros k; apply Rmult_le_pos; [apply eta_nonneg|specialize (kappa_nonneg k); lra]. }
  assert (forall k, 0 < wrong_mass k) as missed by (intros k; apply (wrong_mass_pos n (z k) A some wrong)).
  apply vanishes_by_its_growth
    with (phi := fun k => gap n (z k) A) (w := reach) (c := least / m) (C := 1) (odds := others / m);
    try assumption.
  - apply Rdiv_lt_0_compat; assumption.
  - lra.
  - apply Rdiv_lt_0_compat; assumption.
  - intros k; apply Rlt_le, missed.
  - intros k; specialize (kappa_nonneg k); specialize (eta_nonneg k); specialize (missed k).
    pose proof (gap_grows n (z k) A some wrong (temperature k) (eta k) (kappa k) alpha eta_nonneg
                  kappa_nonneg ltac:(lra)) as grows.
    fold m in grows.
    refine (Rle_trans _ _ _ _ grows); apply Rplus_le_compat_l.
    pose proof (masses_sum n (z k) A some) as one.
    pose proof (right_mass_1 n (z k) A) as plain; destruct (right k) as [hot cold].
    replace (1 - total_on n A (softmax n (tempered 1 (z k)))) with (wrong_mass k)
      by (unfold wrong_mass; lra).
    replace (least / m * (reach k * wrong_mass k))
      with (eta k * ((kappa k * least + alpha * least) * wrong_mass k) / m) by (unfold reach; field; lra).
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, m_pos|].
    apply Rmult_le_compat_l; [assumption|]; apply Rmult_le_compat_r; [lra|].
    apply Rplus_le_compat; apply Rmult_le_compat_l; assumption || lra.
  - intros k; apply (wrong_mass_at_most_exp n (z k) A some wrong).
  - intros k; refine (Rle_trans _ _ _ _ (run_wrong_mass_step k)).
    pose proof (exp_ineq1_le (- reach k)); specialize (missed k).
    apply Rle_trans with ((1 + - reach k) * wrong_mass k); [right; ring|apply Rmult_le_compat_r; lra].
Qed.

Theorem reward_tends_to_1 : diverges reach -> tends_to (fun k => total_on n A (softmax n (z k))) 1.
Proof.
  intros endless e e_pos; destruct (wrong_mass_vanishes endless e e_pos) as (N & close).
  exists N; intros k later; specialize (close k later).
  replace (total_on n A (softmax n (z k)) - 1) with (- (wrong_mass k - 0)).
  - rewrite Rabs_Ropp; exact close.
  - pose proof (masses_sum n (z k) A some); unfold wrong_mass; lra.
Qed.

(** No entropy above log m lasts. *)
Theorem limsup_entropy : diverges reach -> limsup_at_most (fun k => entropy n (z k)) (ln m).
Proof. intros endless; apply limsup_of_mass; [exact some|exact (wrong_mass_vanishes endless)]. Qed.

(** Step sizes of a finite sum leave the reward below 1. *)
Theorem reward_at_1_diverges : tends_to (fun k => total_on n A (softmax n (z k))) 1 -> diverges reach.
Proof.
  intros learned bound small.
  pose proof (wrong_mass_pos n (z 0%nat) A some wrong) as missed; fold (wrong_mass 0) in missed.
  destruct (learned (exp (- bound) * wrong_mass 0) ltac:(apply Rmult_lt_0_compat; [apply exp_pos|assumption]))
    as (N & close); specialize (close N ltac:(lia)); apply Rabs_def2 in close.
  pose proof (masses_sum n (z N) A some); pose proof (wrong_mass_at_least N) as kept; specialize (small N).
  assert (exp (- bound) * wrong_mass 0 <= exp (- sum N reach) * wrong_mass 0)
    by (apply Rmult_le_compat_r; [lra|apply exp_le; lra]).
  unfold wrong_mass in kept at 2; lra.
Qed.

End Run.

(** With one step size all the time. *)
Lemma constant_reach_diverges eta alpha (kappa : nat -> R) :
  0 < eta -> 0 < alpha -> (forall k, 0 <= kappa k) -> diverges (fun k => eta * (kappa k + alpha)).
Proof.
  intros eta_pos alpha_pos kappa_nonneg; apply (diverges_above (fun _ => eta * alpha)).
  - intros k; specialize (kappa_nonneg k); apply Rmult_le_compat_l; lra.
  - apply constant_diverges, Rmult_lt_0_compat; assumption.
Qed.
