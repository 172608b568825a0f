(** At a constant T > 1, whatever the bounded weights of GRPO, the range of the right logits stays bounded and
    tends to zero, and entropy tends to log m: a collapse among the right answers is temporary. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional
  Concentration Learning LearningLimits RightAnswers TransientCollapse.
Open Scope R_scope.

(** What shrinks by a share at every step, up to errors that vanish, vanishes. *)
Lemma contraction_vanishes (u error : nat -> R) c :
  0 < c -> (forall k, 0 <= u k) -> (forall k, u (S k) <= u k - c * u k + error k) ->
  tends_to error 0 -> tends_to u 0.
Proof.
  intros c_pos nonneg shrinks vanishes e e_pos.
  set (d := Rmin c (/ 2)).
  assert (0 < d <= / 2) as d_range by (unfold d; split; [apply Rmin_glb_lt; lra|apply Rmin_r]).
  destruct (vanishes (d * e / 2)) as (N & small).
  { apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|lra]. }
  assert (forall k, (N <= k)%nat -> u (S k) - e / 2 <= (1 - d) * (u k - e / 2)) as step.
  { intros k later; specialize (small k later); apply Rabs_def2 in small; specialize (shrinks k).
    assert (d * u k <= c * u k) by (apply Rmult_le_compat_r; [apply nonneg|apply Rmin_l]); lra. }
  assert (forall j, u (N + j)%nat - e / 2 <= (1 - d) ^ j * Rabs (u N - e / 2)) as geometric.
  { induction j as [|j IH].
    - rewrite Nat.add_0_r; simpl; rewrite Rmult_1_l; apply Rle_abs.
    - rewrite Nat.add_succ_r; apply Rle_trans with (1 := step (N + j)%nat ltac:(lia)).
      simpl; rewrite Rmult_assoc; apply Rmult_le_compat_l; [lra|exact IH]. }
  destruct (pow_lt_1_zero (1 - d) ltac:(rewrite Rabs_pos_eq; lra) (e / 2 / (Rabs (u N - e / 2) + 1)))
    as (J & power).
  { pose proof (Rabs_pos (u N - e / 2)); apply Rdiv_lt_0_compat; lra. }
  exists (N + J)%nat; intros k later; rewrite Rminus_0_r, Rabs_pos_eq by apply nonneg.
  replace k with (N + (k - N))%nat by lia.
  specialize (geometric (k - N)%nat); specialize (power (k - N)%nat ltac:(lia)).
  rewrite Rabs_pos_eq in power by (apply pow_le; lra).
  pose proof (Rabs_pos (u N - e / 2)) as size.
  assert ((1 - d) ^ (k - N) * Rabs (u N - e / 2) <= e / 2 / (Rabs (u N - e / 2) + 1) * Rabs (u N - e / 2))
    by (apply Rmult_le_compat_r; lra).
  assert (e / 2 / (Rabs (u N - e / 2) + 1) * Rabs (u N - e / 2) < e / 2).
  { apply Rmult_lt_reg_r with (Rabs (u N - e / 2) + 1); [lra|].
    replace (e / 2 / (Rabs (u N - e / 2) + 1) * Rabs (u N - e / 2) * (Rabs (u N - e / 2) + 1))
      with (e / 2 * Rabs (u N - e / 2)) by (field; lra).
    apply Rmult_lt_compat_l; lra. }
  lra.
Qed.

Section Run.

Variables (n : nat) (A : mask) (eta T K : R) (kappa : nat -> R) (start : vector).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).
Hypothesis eta_pos : 0 < eta.
Hypothesis eta_small : eta <= 2.
Hypothesis hot : 1 < T.
Hypothesis kappa_range : forall k, 0 <= kappa k <= K.

Let z := aepo_run n A (fun _ => eta) 1 (fun _ => T) kappa start.
Let m := count_on n A.
Let others := count_on n (complement A).
Let spread (k : nat) := range_on n A (z k).
Let missed (k : nat) := total_on n (complement A) (softmax n (z k)).

Let kappa_nonneg k : 0 <= kappa k.
Proof. apply kappa_range. Qed.

Lemma K_nonneg : 0 <= K.
Proof. pose proof (kappa_range 0); lra. Qed.

Lemma cool : 0 < / T < 1.
Proof.
  split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_lt_contravar; lra].
Qed.

Lemma run_lead_at_least k : lead n start A <= lead n (z k) A.
Proof.
  induction k as [|k IH]; [apply Rle_refl|].
  apply Rle_trans with (1 := IH).
  apply (lead_never_falls n (z k) A T (kappa k) eta some wrong hot (kappa_nonneg k) eta_pos eta_small).
Qed.

Lemma spread_nonneg k : 0 <= spread k.
Proof. apply range_nonneg, some. Qed.

Lemma missed_between k : 0 < missed k < 1.
Proof.
  pose proof (wrong_mass_pos n (z k) A some wrong); pose proof (right_mass_pos n (z k) A some).
  pose proof (masses_sum n (z k) A some); unfold missed; lra.
Qed.

Lemma right_mass_stays : exists least, 0 < least /\ forall k, least <= total_on n A (softmax n (tempered T (z k))).
Proof.
  destruct (run_right_mass_at_least n A (fun _ => eta) 1 T (fun _ => T) kappa start some wrong
              (fun _ => Rlt_le _ _ eta_pos) Rlt_0_1 ltac:(lra) (fun _ => Rle_refl T) kappa_nonneg T ltac:(lra))
    as (least & least_pos & stays); exists least; split; [exact least_pos|apply stays].
Qed.

Lemma missed_vanishes : tends_to missed 0.
Proof.
  exact (wrong_mass_vanishes n A (fun _ => eta) 1 T (fun _ => T) kappa start some wrong
           (fun _ => Rlt_le _ _ eta_pos) Rlt_0_1 ltac:(lra) (fun _ => Rle_refl T) kappa_nonneg
           (constant_reach_diverges eta 1 kappa eta_pos Rlt_0_1 kappa_nonneg)).
Qed.

(** e^{-R/T} - e^{-R} is at least e^{-R} (1 - 1/T) R. *)
Lemma gain_at_least R : exp (- R) * ((1 - / T) * R) <= exp (- R / T) - exp (- R).
Proof.
  replace (exp (- R / T)) with (exp (- R) * exp ((1 - / T) * R)).
  - pose proof (exp_ineq1_le ((1 - / T) * R)); pose proof (exp_pos (- R)).
    assert (exp (- R) * (1 + (1 - / T) * R) <= exp (- R) * exp ((1 - / T) * R))
      by (apply Rmult_le_compat_l; lra); lra.
  - rewrite <- exp_plus; f_equal; field; lra.
Qed.

(** The range stays bounded: above R_c temperature draws together more than GRPO draws apart. *)
Lemma spread_bounded : exists M, 0 <= M /\ forall k, spread k <= M.
Proof.
  destruct right_mass_stays as (least & least_pos & stays).
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof (count_on_pos n (complement A) wrong) as others_pos; fold others in others_pos.
  pose proof K_nonneg as K_pos; pose proof cool as cold.
  set (force := (K + 1) * others * exp (- lead n start A)).
  assert (0 < force) as force_pos.
  { repeat apply Rmult_lt_0_compat; [lra|assumption|apply exp_pos]. }
  set (level := m * (1 + force / least)).
  assert (0 < level) as level_pos.
  { apply Rmult_lt_0_compat; [assumption|].
    pose proof (Rdiv_lt_0_compat _ _ force_pos least_pos); lra. }
  set (Rc := ln level / (1 - / T)).
  set (push := eta * (K + 1)).
  assert (0 < push) as push_pos by (apply Rmult_lt_0_compat; lra).
  assert (forall k, spread (S k) <= spread k + push) as never_far.
  { intros k.
    pose proof (range_change_near n (z k) A T (kappa k) eta some wrong hot (kappa_nonneg k) eta_pos eta_small)
      as change.
    change (moved eta (z k) (combined_step n (z k) A T (kappa k) 1)) with (z (S k)) in change.
    fold (spread k) (spread (S k)) m (missed k) in change.
    pose proof (right_mass_between n (z k) A some wrong T) as P_between.
    pose proof (gain_at_least (spread k)) as gain; pose proof (spread_nonneg k).
    assert (0 <= exp (- spread k) * ((1 - / T) * spread k)).
    { apply Rmult_le_pos; [apply Rlt_le, exp_pos|apply Rmult_le_pos; lra]. }
    assert (0 <= total_on n A (softmax n (tempered T (z k)))
                 * ((exp (- spread k / T) - exp (- spread k)) / (m * m))).
    { apply Rmult_le_pos; [lra|apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat]].
      apply Rmult_lt_0_compat; assumption. }
    pose proof (missed_between k); destruct (kappa_range k) as [kappa_low kappa_high].
    assert ((kappa k + 1) * missed k <= (K + 1) * 1) by (apply Rmult_le_compat; lra).
    assert (eta * ((kappa k + 1) * missed k
                   - total_on n A (softmax n (tempered T (z k)))
                     * ((exp (- spread k / T) - exp (- spread k)) / (m * m)))
            <= eta * (K + 1)) by (apply Rmult_le_compat_l; lra).
    unfold push; lra. }
  assert (forall k, Rc <= spread k -> spread (S k) <= spread k) as falls.
  { intros k above.
    pose proof (range_change_at_most n (z k) A T (kappa k) eta some wrong hot (kappa_nonneg k) eta_pos
                  eta_small) as change.
    change (moved eta (z k) (combined_step n (z k) A T (kappa k) 1)) with (z (S k)) in change.
    fold (spread k) (spread (S k)) m others in change.
    set (P := total_on n A (softmax n (tempered T (z k)))) in *.
    pose proof (stays k) as P_least; fold P in P_least.
    assert (exp (largest_on n (complement A) (z k) - largest_on n A (z k))
            <= exp (- lead n start A) * exp (- spread k)) as apart.
    { rewrite <- exp_plus; apply exp_le.
      pose proof (run_lead_at_least k) as leads; unfold lead at 2 in leads.
      unfold spread, range_on; lra. }
    assert ((kappa k + 1) * (others * exp (largest_on n (complement A) (z k) - largest_on n A (z k)))
            <= force * exp (- spread k)) as grpo.
    { unfold force; rewrite !Rmult_assoc; destruct (kappa_range k).
      apply Rmult_le_compat; [lra| |lra|apply Rmult_le_compat_l; lra].
      apply Rmult_le_pos; [lra|apply Rlt_le, exp_pos]. }
    assert (level * exp (- spread k) <= exp (- spread k / T)) as temperature.
    { replace (exp (- spread k / T)) with (exp ((1 - / T) * spread k) * exp (- spread k)).
      - apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|].
        rewrite <- (exp_ln level level_pos); apply exp_le.
        apply Rle_trans with ((1 - / T) * Rc); [right; unfold Rc; field; lra|].
        apply Rmult_le_compat_l; lra.
      - rewrite <- exp_plus; f_equal; field; lra. }
    assert (force * exp (- spread k) <= P * (exp (- spread k / T) / m - exp (- spread k))) as wins.
    { pose proof (exp_pos (- spread k)) as e_pos.
      apply Rle_trans with (least * (level * exp (- spread k) / m - exp (- spread k))).
      - right; unfold level; field; lra.
      - apply Rmult_le_compat; [lra| |lra|].
        + replace (level * exp (- spread k) / m - exp (- spread k)) with (force / least * exp (- spread k))
            by (unfold level; field; lra).
          apply Rmult_le_pos; [apply Rlt_le, Rdiv_lt_0_compat; assumption|lra].
        + assert (level * exp (- spread k) / m <= exp (- spread k / T) / m); [|lra].
          apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|assumption]. }
    set (drift := (kappa k + 1) * (others * exp (largest_on n (complement A) (z k) - largest_on n A (z k)))
                  - P * (exp (- spread k / T) / m - exp (- spread k))) in *.
    assert (0 <= eta * - drift) by (apply Rmult_le_pos; unfold drift; lra); lra. }
  exists (Rmax (spread 0) (Rc + push)); split.
  { apply Rle_trans with (spread 0); [apply spread_nonneg|apply Rmax_l]. }
  induction k as [|k IH]; [apply Rmax_l|].
  destruct (Rle_dec Rc (spread k)) as [above|below].
  - apply Rle_trans with (spread k); [apply falls, above|exact IH].
  - apply Rle_trans with (Rc + push); [specialize (never_far k); lra|apply Rmax_r].
Qed.

Theorem spread_vanishes : tends_to spread 0.
Proof.
  destruct spread_bounded as (M & M_nonneg & bounded).
  destruct right_mass_stays as (least & least_pos & stays).
  pose proof (count_on_pos n A some) as m_pos; fold m in m_pos.
  pose proof K_nonneg as K_pos; pose proof cool as cold.
  apply contraction_vanishes with (error := fun k => eta * ((K + 1) * missed k))
    (c := eta * (least * (exp (- M) * (1 - / T) / (m * m)))).
  - repeat apply Rmult_lt_0_compat; try assumption; try lra; try apply exp_pos.
    apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption.
  - apply spread_nonneg.
  - intros k.
    pose proof (range_change_near n (z k) A T (kappa k) eta some wrong hot (kappa_nonneg k) eta_pos eta_small)
      as change.
    change (moved eta (z k) (combined_step n (z k) A T (kappa k) 1)) with (z (S k)) in change.
    fold (spread k) (spread (S k)) m (missed k) in change.
    set (P := total_on n A (softmax n (tempered T (z k)))) in *.
    pose proof (stays k) as P_least; fold P in P_least.
    pose proof (missed_between k); pose proof (spread_nonneg k); destruct (kappa_range k).
    assert (least * (exp (- M) * (1 - / T) / (m * m)) * spread k
            <= P * ((exp (- spread k / T) - exp (- spread k)) / (m * m))) as gain.
    { rewrite Rmult_assoc.
      assert (0 <= / (m * m)) by (apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; assumption).
      replace (exp (- M) * (1 - / T) / (m * m) * spread k)
        with (exp (- M) * ((1 - / T) * spread k) * / (m * m)) by (unfold Rdiv; ring).
      assert (0 <= (1 - / T) * spread k) by (apply Rmult_le_pos; lra).
      apply Rmult_le_compat; [lra| |lra|].
      - apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rlt_le, exp_pos|assumption]|assumption].
      - apply Rmult_le_compat_r; [assumption|].
        apply Rle_trans with (2 := gain_at_least (spread k)).
        apply Rmult_le_compat_r; [assumption|apply exp_le; specialize (bounded k); lra]. }
    assert ((kappa k + 1) * missed k <= (K + 1) * missed k) by (apply Rmult_le_compat_r; lra).
    assert (eta * ((kappa k + 1) * missed k
                   - P * ((exp (- spread k / T) - exp (- spread k)) / (m * m)))
            <= eta * ((K + 1) * missed k - least * (exp (- M) * (1 - / T) / (m * m)) * spread k))
      by (apply Rmult_le_compat_l; lra).
    lra.
  - intros e e_pos.
    assert (0 < eta * (K + 1)) as factor by (apply Rmult_lt_0_compat; lra).
    destruct (missed_vanishes (e / (eta * (K + 1)))) as (N & close).
    { apply Rdiv_lt_0_compat; assumption. }
    exists N; intros k later; specialize (close k later).
    rewrite Rminus_0_r in *; rewrite Rabs_pos_eq in * by (pose proof (missed_between k); try lra;
      repeat apply Rmult_le_pos; lra).
    apply Rmult_lt_compat_l with (r := eta * (K + 1)) in close; [|assumption].
    replace (eta * (K + 1) * (e / (eta * (K + 1)))) with e in close by (field; lra); lra.
Qed.

Theorem entropy_tends_to_log_m : tends_to (fun k => entropy n (z k)) (ln m).
Proof. apply entropy_tends_to_log_count; [exact some|exact missed_vanishes|exact spread_vanishes]. Qed.

End Run.
