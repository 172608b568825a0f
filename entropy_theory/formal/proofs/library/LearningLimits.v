(** Along a run of exact expected steps of AEPO the right answers are learned, whatever the temperatures:
    the ceiling of the start bounds every entropy, 1 - p tends to zero, and limsup H <= log m. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional RightAnswers
  Concentration Learning.
Open Scope R_scope.

(** If Phi grows by at least a multiple of q, and q is at most a multiple of e^{-Phi}, then q vanishes. *)
Lemma bounded_by_its_growth (phi q : nat -> R) (c odds : R) :
  0 < c -> 0 < odds ->
  (forall k, 0 <= q k) ->
  (forall k, phi k + c * q k <= phi (S k)) ->
  (forall k, q k <= odds * exp (- phi k)) ->
  tends_to q 0.
Proof.
  intros c_pos odds_pos nonneg grows bound e e_pos.
  assert (forall k, phi k <= phi (S k)) as step_up.
  { intros k; specialize (grows k); specialize (nonneg k).
    assert (0 <= c * q k) by (apply Rmult_le_pos; lra); lra. }
  assert (forall i j, (i <= j)%nat -> phi i <= phi j) as monotone.
  { intros i j later; induction later as [|j later IH]; [lra|specialize (step_up j); lra]. }
  destruct (classic (exists j, ln (odds / e) < phi j)) as [(j & high)|low].
  - exists j; intros k later; rewrite Rminus_0_r, Rabs_pos_eq by apply nonneg.
    apply Rle_lt_trans with (1 := bound k).
    assert (ln (odds / e) < phi k) as above by (specialize (monotone j k later); lra).
    apply Rlt_le_trans with (odds * exp (- ln (odds / e))).
    + apply Rmult_lt_compat_l; [assumption|apply exp_increasing; lra].
    + pose proof (Rdiv_lt_0_compat _ _ odds_pos e_pos).
      rewrite exp_Ropp, exp_ln by assumption; right; field; lra.
  - assert (forall j, phi j <= ln (odds / e)) as bounded.
    { intros j; apply Rnot_lt_le; intros high; apply low; exists j; exact high. }
    destruct (Un_cv_crit phi step_up) as (limit & converges).
    { exists (ln (odds / e)); intros x (j & ->); apply bounded. }
    destruct (converges (c * e / 2)) as (N & close); [apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|lra]|].
    exists N; intros k later; rewrite Rminus_0_r, Rabs_pos_eq by apply nonneg.
    pose proof (close k later) as first; pose proof (close (S k) ltac:(lia)) as second.
    unfold R_dist in first, second.
    apply Rabs_def2 in first; apply Rabs_def2 in second.
    specialize (grows k); apply Rmult_lt_reg_l with c; [assumption|lra].
Qed.

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

Variables (n : nat) (A : mask) (eta alpha low : R) (temperature kappa : nat -> R) (start : vector).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).
Hypothesis eta_pos : 0 < eta.
Hypothesis alpha_pos : 0 < alpha.
Hypothesis low_pos : 0 < low.
Hypothesis range : forall k, low <= temperature k.
Hypothesis kappa_nonneg : forall k, 0 <= kappa k.

Let z := aepo_run n A eta alpha temperature kappa start.
Let m := count_on n A.
Let others := count_on n (complement A).
Let wrong_mass (k : nat) := total_on n (complement A) (softmax n (z k)).

Lemma run_gap_step k : gap n (z k) A <= gap n (z (S k)) A.
Proof. apply gap_never_falls; auto; lra. Qed.

Lemma run_gap_never_falls i j : (i <= j)%nat -> gap n (z i) A <= gap n (z j) A.
Proof.
  intros later; induction later as [|j later IH]; [lra|].
  pose proof (run_gap_step j); lra.
Qed.

(** Every entropy of the run is below the ceiling of each policy before it. *)
Lemma run_below_ceiling i j : (i <= j)%nat -> entropy n (z j) <= ceiling n (z i) A.
Proof.
  intros later; apply entropy_at_most_ceiling; [assumption|assumption|].
  apply run_gap_never_falls, later.
Qed.

(** The right answers keep a positive probability at every temperature of the range. *)
Lemma run_right_mass_at_least :
  exists least, 0 < least /\
    forall k, least <= total_on n A (softmax n (tempered (temperature k) (z k))).
Proof.
  exists (/ (1 + others / m * exp (Rabs (gap n start A) / low))); split.
  - pose proof (Rdiv_lt_0_compat _ _ (count_on_pos n (complement A) wrong) (count_on_pos n A some)) as odds_pos.
    apply Rinv_0_lt_compat; pose proof (Rmult_lt_0_compat _ _ odds_pos (exp_pos (Rabs (gap n start A) / low)));
      unfold others, m; lra.
  - intros k; apply right_mass_from_gap; [assumption|assumption|assumption|apply range|].
    exact (run_gap_never_falls 0 k ltac:(lia)).
Qed.

(** p tends to 1: no temperatures keep the wrong answers alive. *)
Theorem wrong_mass_vanishes : tends_to wrong_mass 0.
Proof.
  destruct run_right_mass_at_least as (least & least_pos & right).
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof (count_on_pos n (complement A) wrong) as others_pos; fold others in others_pos.
  apply bounded_by_its_growth
    with (phi := fun k => gap n (z k) A) (c := eta * (alpha * least) / m) (odds := others / m).
  - apply Rdiv_lt_0_compat; [|assumption]; repeat apply Rmult_lt_0_compat; assumption.
  - apply Rdiv_lt_0_compat; assumption.
  - intros k; apply Rlt_le, (wrong_mass_pos n (z k) A some wrong).
  - intros k.
    pose proof (gap_grows n (z k) A some wrong (temperature k) eta (kappa k) alpha ltac:(lra)
                  (kappa_nonneg k) ltac:(lra)) as grows.
    fold m in grows.
    refine (Rle_trans _ _ _ _ grows); apply Rplus_le_compat_l.
    pose proof (right_mass_between n (z k) A some wrong 1) as between.
    pose proof (masses_sum n (z k) A some) as one.
    pose proof (right_mass_1 n (z k) A) as plain.
    replace (1 - total_on n A (softmax n (tempered 1 (z k)))) with (wrong_mass k)
      by (unfold wrong_mass; lra).
    pose proof (wrong_mass_pos n (z k) A some wrong) as missed; fold (wrong_mass k) in missed.
    replace (eta * (alpha * least) / m * wrong_mass k)
      with (eta * ((alpha * least) * wrong_mass k) / m) by (field; lra).
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, m_pos|].
    apply Rmult_le_compat_l; [lra|]; apply Rmult_le_compat_r; [lra|].
    assert (0 <= kappa k * total_on n A (softmax n (tempered 1 (z k))))
      by (apply Rmult_le_pos; [auto|lra]).
    assert (alpha * least <= alpha * total_on n A (softmax n (tempered (temperature k) (z k))))
      by (apply Rmult_le_compat_l; [lra|apply right]).
    lra.
  - intros k; apply (wrong_mass_at_most_exp n (z k) A some wrong).
Qed.

Theorem reward_tends_to_1 : tends_to (fun k => total_on n A (softmax n (z k))) 1.
Proof.
  intros e e_pos; destruct (wrong_mass_vanishes e e_pos) as (N & close).
  exists N; intros k later; specialize (close k later).
  replace (total_on n A (softmax n (z k)) - 1) with (- (wrong_mass k - 0)).
  - rewrite Rabs_Ropp; exact close.
  - pose proof (masses_sum n (z k) A some); unfold wrong_mass; lra.
Qed.

(** No entropy above log m lasts. *)
Theorem limsup_entropy : limsup_at_most (fun k => entropy n (z k)) (ln m).
Proof. apply limsup_of_mass; [exact some|exact wrong_mass_vanishes]. Qed.

End Run.
