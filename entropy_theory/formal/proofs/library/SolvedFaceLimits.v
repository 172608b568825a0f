(** Runs on the solved face, eta <= 2. The likeliest answers of the start stay tied and likeliest, so that no
    temperatures lead below log k, k their number; a constant T < 1 leads there, and a constant T > 1 to log n. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional
  RightAnswers Concentration Learning StepSizes TransientCollapseLimits SolvedFace.
Open Scope R_scope.

Definition face_run (n : nat) (eta : R) (temperature : nat -> R) (start : vector) : nat -> vector :=
  run (fun j z => moved eta z (face_step n z (temperature j))) start.

(** The actions of A that no other action of A exceeds. *)
Definition likeliest (n : nat) (A : mask) (z : vector) : mask :=
  fun a => A a && negb (less (z a) (largest_on n A z)).

Lemma likeliest_spec n A z a :
  (a < n)%nat -> (likeliest n A z a = true <-> A a = true /\ z a = largest_on n A z).
Proof.
  intros inside; unfold likeliest, less; destruct (Rlt_dec (z a) (largest_on n A z)) as [below|above]; simpl.
  - rewrite andb_false_r; split; [discriminate|intros (_ & same); lra].
  - rewrite andb_true_r; split; [|tauto]; intros chosen; split; [assumption|].
    pose proof (largest_on_ge n A z a inside chosen); lra.
Qed.

Lemma likeliest_some n A z : nonempty n A -> nonempty n (likeliest n A z).
Proof.
  intros some; destruct (largest_on_attained n A z some) as (a & inside & chosen & top).
  exists a; split; [assumption|]; apply likeliest_spec; [assumption|auto].
Qed.

Lemma tends_to_total_on n A (f : nat -> vector) :
  (forall a, (a < n)%nat -> A a = true -> tends_to (fun k => f k a) 0) ->
  tends_to (fun k => total_on n A (f k)) 0.
Proof.
  unfold total_on; induction n as [|j IH]; simpl; intros each e e_pos.
  - exists 0%nat; intros; rewrite Rminus_0_r, Rabs_R0; assumption.
  - destruct (IH (fun a inside => each a ltac:(lia)) (e / 2) ltac:(lra)) as (N1 & first).
    assert (exists N, forall k, (N <= k)%nat -> Rabs (only A (f k) j) < e / 2) as (N2 & second).
    { unfold only; destruct (A j) eqn:chosen.
      - destruct (each j ltac:(lia) chosen (e / 2) ltac:(lra)) as (N & close); exists N; intros k later.
        specialize (close k later); rewrite Rminus_0_r in close; exact close.
      - exists 0%nat; intros; rewrite Rabs_R0; lra. }
    exists (max N1 N2); intros k later; specialize (first k ltac:(lia)); specialize (second k ltac:(lia)).
    rewrite Rminus_0_r in *.
    apply Rle_lt_trans with (1 := Rabs_triang _ _); lra.
Qed.

Section Run.

Variables (n : nat) (eta : R) (temperature : nat -> R) (start : vector).
Hypothesis some : (0 < n)%nat.
Hypothesis eta_pos : 0 < eta.
Hypothesis eta_small : eta <= 2.
Hypothesis positive : forall k, 0 < temperature k.

Let z := face_run n eta temperature start.
Let top := likeliest n all_actions start.

Lemma top_some : nonempty n top.
Proof. apply likeliest_some, all_some, some. Qed.

(** The likeliest answers of the start stay so, and tied. *)
Lemma top_stays k a b : (a < n)%nat -> (b < n)%nat -> top a = true -> z k b <= z k a.
Proof.
  intros a_inside b_inside a_top; induction k as [|k IH].
  - apply likeliest_spec in a_top; [|assumption]; destruct a_top as [_ a_is].
    change (start b <= start a); rewrite a_is.
    apply largest_on_ge; [assumption|reflexivity].
  - apply (order_kept n (z k) (temperature k) eta some (positive k) eta_pos eta_small); assumption.
Qed.

Lemma top_tied k : uniform_on n top (z k).
Proof. intros a b a_inside b_inside a_top b_top; apply Rle_antisym; apply top_stays; assumption. Qed.

Lemma others_stay_behind k a b :
  (a < n)%nat -> (b < n)%nat -> top a = true -> top b = false -> z k b < z k a.
Proof.
  intros a_inside b_inside a_top b_out; induction k as [|k IH].
  - apply likeliest_spec in a_top; [|assumption]; destruct a_top as [_ a_is].
    change (start b < start a); rewrite a_is; apply Rnot_le_lt; intros above.
    assert (top b = true); [|congruence].
    apply likeliest_spec; [assumption|]; split; [reflexivity|].
    pose proof (largest_on_ge n all_actions start b b_inside eq_refl); lra.
  - apply (strict_order_kept n (z k) (temperature k) eta some (positive k) eta_pos eta_small); assumption.
Qed.

(** No temperatures lead below log k. *)
Theorem entropy_at_least_ties k : ln (count_on n top) <= entropy n (z k).
Proof.
  destruct top_some as (t & t_inside & t_top).
  assert (forall a, (a < n)%nat -> softmax n (z k) a <= softmax n (z k) t) as most
    by (intros; apply softmax_le; [assumption|apply top_stays; assumption]).
  pose proof (softmax_pos n (z k) t some) as t_pos.
  assert (count_on n top * softmax n (z k) t <= 1) as share.
  { rewrite <- total_on_const, <- (softmax_sum n (z k) some), <- (total_on_complement n top).
    assert (0 <= total_on n (complement top) (softmax n (z k)))
      by (apply total_on_nonneg; intros; apply Rlt_le, softmax_pos, some).
    assert (total_on n top (fun _ => softmax n (z k) t) = total_on n top (softmax n (z k))); [|lra].
    apply total_on_ext; intros a inside chosen.
    unfold softmax; rewrite (top_tied k t a); auto. }
  pose proof (count_on_pos n top top_some) as count_pos.
  assert (ln (count_on n top) <= - ln (softmax n (z k) t)) as log.
  { pose proof (ln_nondecreasing _ 1 (Rmult_lt_0_compat _ _ count_pos t_pos) share) as below.
    rewrite ln_mult, ln_1 in below by assumption; lra. }
  apply Rle_trans with (1 := log).
  unfold entropy; apply Ropp_le_contravar.
  rewrite <- (Rmult_1_l (ln (softmax n (z k) t))), <- (softmax_sum n (z k) some), <- sum_scal_r.
  apply sum_le; intros a inside; apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, some|].
  apply ln_nondecreasing; [apply softmax_pos, some|apply most, inside].
Qed.

End Run.

(** A constant T > 1 leads to the uniform policy. *)
Theorem hot_run n eta T start :
  (0 < n)%nat -> 0 < eta -> eta <= 2 -> 1 < T ->
  tends_to (fun k => entropy n (face_run n eta (fun _ => T) start k)) (ln (INR n)).
Proof.
  intros some eta_pos eta_small hot; set (z := face_run n eta (fun _ => T) start).
  assert (count_on n all_actions = INR n) as <-.
  { unfold count_on; rewrite total_on_everything, sum_const by apply all_everything; ring. }
  apply entropy_tends_to_log_count; [apply all_some, some| |].
  - intros e e_pos; exists 0%nat; intros k _.
    assert (total_on n (complement all_actions) (softmax n (z k)) = 0) as ->.
    { rewrite <- (Rmult_0_r (count_on n (complement all_actions))), <- total_on_const.
      apply total_on_ext; intros a _ chosen; discriminate. }
    rewrite Rminus_0_r, Rabs_R0; assumption.
  - pose proof (lt_0_INR n some) as n_pos.
    assert (/ T < 1) as cool by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra).
    set (range k := range_on n all_actions (z k)).
    assert (forall k, 0 <= range k) as nonneg by (intros; apply range_nonneg, all_some, some).
    assert (forall k, range (S k)
              <= range k - eta * ((exp (- range k / T) - exp (- range k)) / (INR n * INR n))) as falls.
    { intros k; apply (range_fall_at_least n (z k) T eta some ltac:(lra) eta_pos eta_small hot). }
    assert (forall k, exp (- range k) * ((1 - / T) * range k) <= exp (- range k / T) - exp (- range k)) as gain
      by (intros; apply gain_at_least, hot).
    assert (forall k, 0 <= exp (- range k / T) - exp (- range k)) as gain_nonneg.
    { intros k; refine (Rle_trans _ _ _ _ (gain k)); specialize (nonneg k).
      apply Rmult_le_pos; [apply Rlt_le, exp_pos|apply Rmult_le_pos; lra]. }
    assert (0 < / (INR n * INR n)) as scale by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption).
    assert (forall k, range k <= range 0%nat) as bounded.
    { induction k as [|k IH]; [lra|]; specialize (falls k).
      assert (0 <= eta * ((exp (- range k / T) - exp (- range k)) / (INR n * INR n))).
      { apply Rmult_le_pos; [lra|apply Rmult_le_pos; [apply gain_nonneg|lra]]. }
      lra. }
    apply contraction_vanishes with (error := fun _ => 0)
      (c := eta * (exp (- range 0%nat) * (1 - / T) * / (INR n * INR n))).
    + repeat apply Rmult_lt_0_compat; try assumption; [apply exp_pos|lra].
    + exact nonneg.
    + intros k; rewrite Rplus_0_r; apply Rle_trans with (1 := falls k).
      assert (exp (- range 0%nat) * (1 - / T) * / (INR n * INR n) * range k
              <= (exp (- range k / T) - exp (- range k)) / (INR n * INR n)).
      { replace (exp (- range 0%nat) * (1 - / T) * / (INR n * INR n) * range k)
          with (exp (- range 0%nat) * ((1 - / T) * range k) * / (INR n * INR n)) by ring.
        apply Rmult_le_compat_r; [lra|]; refine (Rle_trans _ _ _ _ (gain k)).
        apply Rmult_le_compat_r; [apply Rmult_le_pos; [lra|apply nonneg]|].
        apply exp_le; specialize (bounded k); lra. }
      assert (eta * (exp (- range 0%nat) * (1 - / T) * / (INR n * INR n) * range k)
              <= eta * ((exp (- range k / T) - exp (- range k)) / (INR n * INR n)))
        by (apply Rmult_le_compat_l; lra).
      lra.
    + intros e e_pos; exists 0%nat; intros; rewrite Rminus_0_r, Rabs_R0; assumption.
Qed.

(** A constant T < 1 leads to the uniform policy on the likeliest answers. *)
Theorem cold_run n eta T start :
  (0 < n)%nat -> 0 < eta -> eta <= 2 -> 0 < T -> T < 1 ->
  tends_to (fun k => entropy n (face_run n eta (fun _ => T) start k))
    (ln (count_on n (likeliest n all_actions start))).
Proof.
  intros some eta_pos eta_small T_pos cold; set (z := face_run n eta (fun _ => T) start).
  set (top := likeliest n all_actions start).
  assert (nonempty n top) as top_nonempty by (apply likeliest_some, all_some, some).
  assert (1 < / T) as inverse by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra).
  pose proof (lt_0_INR n some) as n_pos.
  apply entropy_tends_to_log_count; [exact top_nonempty| |].
  2: { intros e e_pos; exists 0%nat; intros k _.
    assert (range_on n top (z k) = 0) as ->; [|rewrite Rminus_0_r, Rabs_R0; assumption].
    apply Rle_antisym; [|apply range_nonneg; assumption].
    apply Rnot_lt_le; intros wide.
    destruct (largest_on_attained n top (z k) top_nonempty) as (a & a_inside & a_top & a_is).
    destruct (smallest_on_attained n top (z k) top_nonempty) as (b & b_inside & b_top & b_is).
    unfold range_on in wide; rewrite a_is, b_is in wide.
    pose proof (top_tied n eta (fun _ => T) start some eta_pos eta_small (fun _ => T_pos) k a b
                  a_inside b_inside a_top b_top) as tied; fold z in tied; lra. }
  destruct top_nonempty as (t & t_inside & t_top).
  assert (forall k, z k t = largest n (z k)) as t_largest.
  { intros k; symmetry; apply largest_on_eq with t; [assumption|reflexivity|reflexivity|].
    intros b b_inside _.
    apply (top_stays n eta (fun _ => T) start some eta_pos eta_small (fun _ => T_pos)); assumption. }
  apply (tends_to_total_on n (complement top) (fun k => softmax n (z k))).
  intros a inside out; apply complement_true in out.
  set (D := fun k => z k t - z k a).
  set (gain := fun k => exp (- D k) - exp (- D k / T)).
  assert (0 < D 0%nat) as start_behind.
  { pose proof (others_stay_behind n eta (fun _ => T) start some eta_pos eta_small (fun _ => T_pos) 0 t a
                  t_inside inside t_top out) as behind; fold z in behind; unfold D; lra. }
  assert (forall k, D k + eta * (gain k / (INR n * INR n)) <= D (S k)) as grows.
  { intros k; exact (lead_growth n (z k) T eta some T_pos eta_pos t a cold t_inside inside (t_largest k)). }
  assert (forall k, 0 <= D k -> 0 <= gain k) as gain_sign.
  { intros k nonneg; unfold gain; assert (exp (- D k / T) <= exp (- D k)); [|lra].
    apply exp_le; assert (0 <= D k * (/ T - 1)) by (apply Rmult_le_pos; lra); unfold Rdiv; lra. }
  assert (0 < / (INR n * INR n)) as scale by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption).
  assert (forall k, D 0%nat <= D k) as ahead.
  { induction k as [|k IH]; [lra|]; specialize (grows k).
    assert (0 <= eta * (gain k / (INR n * INR n))).
    { apply Rmult_le_pos; [lra|apply Rmult_le_pos; [apply gain_sign; lra|lra]]. }
    lra. }
  assert (tends_to gain 0) as fades.
  { apply bounded_by_its_growth with (phi := D) (c := eta * / (INR n * INR n)) (odds := 1); [|lra| | |].
    - apply Rmult_lt_0_compat; assumption.
    - intros k; apply gain_sign; specialize (ahead k); lra.
    - intros k; specialize (grows k); unfold Rdiv in grows; lra.
    - intros k; unfold gain; pose proof (exp_pos (- D k / T)); lra. }
  set (share := 1 - exp (- (D 0%nat * (/ T - 1)))).
  assert (0 < share) as share_pos.
  { unfold share; assert (exp (- (D 0%nat * (/ T - 1))) < 1); [|lra].
    apply exp_lt_1; assert (0 < D 0%nat * (/ T - 1)) by (apply Rmult_lt_0_compat; lra); lra. }
  intros e e_pos.
  destruct (fades (e * share)) as (N & close); [apply Rmult_lt_0_compat; assumption|].
  exists N; intros k later; specialize (close k later).
  rewrite Rminus_0_r in *.
  rewrite Rabs_pos_eq in close by (apply gain_sign; specialize (ahead k); lra).
  rewrite Rabs_pos_eq by (apply Rlt_le, softmax_pos, some).
  assert (exp (- D k) * share <= gain k) as part.
  { unfold gain, share.
    replace (exp (- D k / T)) with (exp (- D k) * exp (- (D k * (/ T - 1)))).
    - assert (exp (- (D k * (/ T - 1))) <= exp (- (D 0%nat * (/ T - 1)))).
      { apply exp_le, Ropp_le_contravar, Rmult_le_compat_r; [lra|apply ahead]. }
      assert (exp (- D k) * exp (- (D k * (/ T - 1))) <= exp (- D k) * exp (- (D 0%nat * (/ T - 1))))
        by (apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|assumption]); lra.
    - rewrite <- exp_plus; f_equal; field; lra. }
  assert (softmax n (z k) a <= exp (- D k)) as small.
  { rewrite <- (conditional_everything n all_actions (z k) a) by (assumption || apply all_everything).
    rewrite (conditional_ratio n all_actions (all_some n some) (z k) a t) by reflexivity.
    pose proof (conditional_le_1 n all_actions (all_some n some) (z k) t t_inside).
    replace (- D k) with (z k a - z k t) by (unfold D; ring).
    rewrite <- (Rmult_1_l (exp (z k a - z k t))) at 2.
    apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|assumption]. }
  apply Rmult_lt_reg_r with share; [assumption|].
  apply Rle_lt_trans with (exp (- D k) * share); [apply Rmult_le_compat_r; lra|lra].
Qed.
