(** Along a run of an ablation, with temperatures in a range and weights that do not vanish, H tends to log k with
    k the number of likeliest right answers of the start: collapse, up to exact ties. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional
  RightAnswers Concentration Learning LearningLimits SolvedFaceLimits Ablations.
Open Scope R_scope.

Definition ablated_run (n : nat) (correct : mask) (eta : R) (temperature kappa w : nat -> R) (start : vector)
    : nat -> vector :=
  run (fun j z => moved eta z (ablated_step n z correct (temperature j) (kappa j) (w j))) start.

(** The likeliest of m right answers has an m-th of their probability. *)
Lemma likeliest_share n A y t :
  nonempty n A -> (t < n)%nat -> A t = true -> (forall a, (a < n)%nat -> A a = true -> y a <= y t) ->
  total_on n A (softmax n y) / count_on n A <= softmax n y t.
Proof.
  intros some inside chosen most; pose proof (count_on_pos n A some).
  apply Rmult_le_reg_r with (count_on n A); [assumption|].
  replace (total_on n A (softmax n y) / count_on n A * count_on n A) with (total_on n A (softmax n y))
    by (field; lra).
  rewrite Rmult_comm; apply total_on_le_count; intros a a_inside a_chosen.
  apply softmax_le; [exact (nonempty_inhabited n A some)|apply most; assumption].
Qed.

(** Bounded logits leave every action a positive probability. *)
Lemma softmax_at_least n y b span :
  (b < n)%nat -> (forall a, (a < n)%nat -> y a - y b <= span) -> exp (- span) / INR n <= softmax n y b.
Proof.
  intros inside narrow; assert (0 < n)%nat as some by lia; pose proof (lt_0_INR n some) as n_pos.
  pose proof (normalizer_pos n y some) as normalizer; unfold softmax.
  apply Rmult_le_reg_r with (sum n (fun a => exp (y a))); [assumption|].
  replace (exp (y b) / sum n (fun a => exp (y a)) * sum n (fun a => exp (y a))) with (exp (y b)) by (field; lra).
  apply Rle_trans with (exp (- span) / INR n * (INR n * exp (y b + span))).
  - apply Rmult_le_compat_l; [apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|assumption]|].
    rewrite <- sum_const; apply sum_le; intros a a_inside; apply exp_le.
    specialize (narrow a a_inside); lra.
  - right; rewrite exp_plus, exp_Ropp; pose proof (exp_pos span); field; lra.
Qed.

Section Run.

Variables (n : nat) (A : mask) (eta low high least : R) (temperature kappa w : nat -> R) (start : vector).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).
Hypothesis eta_pos : 0 < eta.
Hypothesis low_pos : 0 < low.
Hypothesis least_pos : 0 < least.
Hypothesis range : forall k, low <= temperature k <= high.
Hypothesis kappa_nonneg : forall k, 0 <= kappa k.
Hypothesis w_nonneg : forall k, 0 <= w k.
Hypothesis enough : forall k, least <= kappa k + w k.

Let z := ablated_run n A eta temperature kappa w start.
Let top := likeliest n A start.
Let pushed k := push n (z k) A (temperature k) (kappa k) (w k) eta.
Let total_push k := sum k pushed.

Let eta_nonneg : 0 <= eta.
Proof. lra. Qed.

Let positive k : 0 < temperature k.
Proof. specialize (range k); lra. Qed.

Lemma pushed_nonneg k : 0 <= pushed k.
Proof. apply push_nonneg; auto. Qed.

Lemma total_push_grows i j : (i <= j)%nat -> total_push i <= total_push j.
Proof.
  intros later; induction later as [|j later IH]; [lra|].
  unfold total_push in *; simpl; pose proof (pushed_nonneg j); lra.
Qed.

Lemma run_moves_at_most k a : (a < n)%nat -> Rabs (z k a - start a) <= total_push k.
Proof.
  intros inside; induction k as [|k IH].
  - change (z 0%nat a) with (start a); rewrite Rminus_eq_0, Rabs_R0; unfold total_push; simpl; lra.
  - pose proof (moves_at_most n (z k) A (temperature k) (kappa k) (w k) eta some wrong (kappa_nonneg k)
                  (w_nonneg k) eta_nonneg a inside) as bound.
    replace (z (S k) a - start a)
      with ((z k a - start a) + eta * ablated_step n (z k) A (temperature k) (kappa k) (w k) a)
      by (change (z (S k) a) with
            (moved eta (z k) (ablated_step n (z k) A (temperature k) (kappa k) (w k)) a); unfold moved; ring).
    apply Rle_trans with (1 := Rabs_triang _ _); unfold total_push in *; simpl; fold (pushed k) in bound; lra.
Qed.

(** The pushes add up to more than any bound, because bounded logits leave a positive wrong probability. *)
Lemma push_unbounded B : exists N, forall k, (N <= k)%nat -> B < total_push k.
Proof.
  destruct (classic (exists N, B < total_push N)) as [(N & high_push)|none].
  { exists N; intros k later; pose proof (total_push_grows N k later); lra. }
  exfalso.
  assert (forall k, total_push k <= B) as bounded.
  { intros k; apply Rnot_lt_le; intros above; apply none; exists k; exact above. }
  destruct wrong as (b & b_inside & b_wrong).
  set (span := (largest n start - smallest n start) + 2 * B).
  assert (forall k a, (a < n)%nat -> z k a - z k b <= span) as narrow.
  { intros k a inside.
    pose proof (run_moves_at_most k a inside) as a_near; pose proof (run_moves_at_most k b b_inside) as b_near.
    pose proof (Rle_abs (z k a - start a)); pose proof (Rle_abs (- (z k b - start b))) as b_abs.
    rewrite Rabs_Ropp in b_abs; specialize (bounded k).
    pose proof (largest_ge n start a inside); pose proof (smallest_le n start b b_inside); unfold span; lra. }
  assert (0 <= span) as span_nonneg by (specialize (narrow 0%nat b b_inside); lra).
  set (d := Rmin (exp (- span)) (exp (- (span / low))) / INR n).
  assert (0 < INR n) as n_pos by (apply lt_0_INR; lia).
  assert (0 < d) as d_pos by (apply Rdiv_lt_0_compat; [apply Rmin_glb_lt; apply exp_pos|assumption]).
  assert (forall k, d <= softmax n (z k) b) as alive.
  { intros k; refine (Rle_trans _ _ _ _ (softmax_at_least n (z k) b span b_inside (narrow k))).
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|apply Rmin_l]. }
  assert (forall k, d <= softmax n (tempered (temperature k) (z k)) b) as alive_T.
  { intros k; refine (Rle_trans _ _ _ _ (softmax_at_least n (tempered (temperature k) (z k)) b (span / low)
                                           b_inside _)).
    - apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|apply Rmin_r].
    - intros a inside; specialize (narrow k a inside); destruct (range k) as [above _].
      replace (tempered (temperature k) (z k) a - tempered (temperature k) (z k) b)
        with ((z k a - z k b) * / temperature k) by (unfold tempered, Rdiv; ring).
      apply Rle_trans with (span * / temperature k).
      + apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, positive|assumption].
      + apply Rmult_le_compat_l; [assumption|apply Rinv_le_contravar; assumption]. }
  assert (forall k, eta * (least * d) <= pushed k) as steady.
  { intros k; unfold pushed, push; apply Rmult_le_compat_l; [lra|].
    assert (forall y, (forall a, 0 <= softmax n y a) -> d <= softmax n y b ->
              d <= total_on n (complement A) (softmax n y)) as part.
    { intros y nonneg low_b; apply Rle_trans with (1 := low_b).
      apply (total_on_ge_term n (complement A) (softmax n y)); auto. }
    assert (d <= total_on n (complement A) (softmax n (z k))).
    { apply part; [intros; apply Rlt_le, softmax_pos; lia|apply alive]. }
    assert (d <= total_on n (complement A) (softmax n (tempered (temperature k) (z k)))).
    { apply part; [intros; apply Rlt_le, softmax_pos; lia|apply alive_T]. }
    specialize (enough k); specialize (kappa_nonneg k); specialize (w_nonneg k).
    assert (kappa k * d <= kappa k * total_on n (complement A) (softmax n (z k)))
      by (apply Rmult_le_compat_l; assumption).
    assert (w k * d <= w k * total_on n (complement A) (softmax n (tempered (temperature k) (z k))))
      by (apply Rmult_le_compat_l; assumption).
    assert (least * d <= (kappa k + w k) * d) by (apply Rmult_le_compat_r; lra); lra. }
  assert (forall k, INR k * (eta * (least * d)) <= total_push k) as linear.
  { intros k; rewrite <- sum_const; apply sum_le; intros; apply steady. }
  assert (0 < eta * (least * d)) as pace by (apply Rmult_lt_0_compat; [assumption|apply Rmult_lt_0_compat; assumption]).
  destruct (nfloor_ex (Rmax 0 (B / (eta * (least * d)))) (Rmax_l _ _)) as (N & _ & above).
  assert (B / (eta * (least * d)) < INR (S N)) as large.
  { rewrite S_INR; apply Rle_lt_trans with (2 := above), Rmax_r. }
  specialize (linear (S N)); specialize (bounded (S N)).
  apply Rmult_lt_compat_r with (r := eta * (least * d)) in large; [|assumption].
  replace (B / (eta * (least * d)) * (eta * (least * d))) with B in large by (field; lra); lra.
Qed.

Lemma run_gap_at_least k : gap n start A <= gap n (z k) A.
Proof.
  induction k as [|k IH]; [apply Rle_refl|]; apply Rle_trans with (1 := IH).
  apply (gap_grows_too n (z k) A (temperature k) (kappa k) (w k) eta); auto.
Qed.

(** The likeliest right answers stay so, and tied; no other right answer comes closer. *)
Section Top.

Variable t : nat.
Hypothesis t_inside : (t < n)%nat.
Hypothesis t_top : top t = true.

Lemma t_right : A t = true.
Proof. apply likeliest_spec in t_top; tauto. Qed.

Lemma right_lead_grows k a :
  (a < n)%nat -> A a = true -> 0 <= z k t - z k a -> z k t - z k a <= z (S k) t - z (S k) a.
Proof.
  intros inside chosen nonneg.
  set (step := ablated_step n (z k) A (temperature k) (kappa k) (w k)).
  change (z (S k)) with (moved eta (z k) step); unfold moved.
  assert (0 <= step t - step a) as apart.
  { destruct (Rle_lt_or_eq_dec _ _ nonneg) as [strict|tie].
    - pose proof (draws_apart n (z k) A (temperature k) (kappa k) (w k) some wrong (positive k) (kappa_nonneg k)
                    (w_nonneg k) t a t_inside inside t_right chosen) as product; fold step in product.
      apply Rmult_le_reg_l with (z k t - z k a); lra.
    - unfold step; rewrite !(ablated_right n (z k) A (temperature k) (kappa k) (w k))
        by (assumption || exact t_right).
      assert (softmax n (z k) t = softmax n (z k) a) as ->
        by (unfold softmax; replace (z k t) with (z k a) by lra; reflexivity).
      assert (softmax n (tempered (temperature k) (z k)) t = softmax n (tempered (temperature k) (z k)) a) as ->
        by (unfold softmax, tempered; replace (z k t) with (z k a) by lra; reflexivity).
      lra. }
  assert (0 <= eta * (step t - step a)) by (apply Rmult_le_pos; lra); lra.
Qed.

Lemma right_lead_at_least k a : (a < n)%nat -> A a = true -> start t - start a <= z k t - z k a.
Proof.
  intros inside chosen; induction k as [|k IH]; [apply Rle_refl|].
  apply Rle_trans with (1 := IH), right_lead_grows; [assumption|assumption|].
  apply likeliest_spec in t_top; [|assumption]; destruct t_top as [_ t_is].
  pose proof (largest_on_ge n A start a inside chosen); lra.
Qed.

Lemma t_stays_likeliest k a : (a < n)%nat -> A a = true -> z k a <= z k t.
Proof.
  intros inside chosen; pose proof (right_lead_at_least k a inside chosen).
  apply likeliest_spec in t_top; [|assumption]; destruct t_top as [_ t_is].
  pose proof (largest_on_ge n A start a inside chosen); lra.
Qed.

(** Its lead over every answer that is not tied with it grows by a share of the push. *)
Lemma lead_share a :
  (a < n)%nat -> top a = false ->
  exists g, 0 < g /\ forall k, z k t - z k a + g * pushed k <= z (S k) t - z (S k) a.
Proof.
  intros inside out.
  pose proof (count_on_pos n A some) as m_pos; set (m := count_on n A) in *.
  pose proof (count_on_pos n (complement A) wrong) as others_pos.
  set (low' := Rmin low 1).
  assert (0 < low') as low'_pos by (apply Rmin_glb_lt; lra).
  set (r := / (1 + count_on n (complement A) / m * exp (Rabs (gap n start A) / low'))).
  assert (0 < r) as r_pos.
  { apply Rinv_0_lt_compat.
    pose proof (Rmult_lt_0_compat _ _ (Rdiv_lt_0_compat _ _ others_pos m_pos)
                  (exp_pos (Rabs (gap n start A) / low'))); lra. }
  set (scale := Rmax high 1).
  assert (1 <= scale) as scale_large by apply Rmax_r.
  set (E := if A a then exp (- ((start t - start a) / scale)) else 0).
  assert (0 <= E < 1) as E_range.
  { unfold E; destruct (A a) eqn:chosen; [|lra].
    assert (start a < start t) as behind.
    { apply likeliest_spec in t_top; [|assumption]; destruct t_top as [_ t_is].
      pose proof (largest_on_ge n A start a inside chosen) as below.
      destruct (Rle_lt_or_eq_dec _ _ below) as [strict|tie]; [lra|].
      assert (top a = true); [apply likeliest_spec; auto|congruence]. }
    split; [apply Rlt_le, exp_pos|apply exp_lt_1].
    assert (0 < (start t - start a) / scale) by (apply Rdiv_lt_0_compat; lra); lra. }
  exists (r / m * (1 - E)); split.
  { apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; assumption|lra]. }
  intros k.
  set (step := ablated_step n (z k) A (temperature k) (kappa k) (w k)).
  change (z (S k)) with (moved eta (z k) step); unfold moved.
  assert (forall T, low' <= T -> r / m <= softmax n (tempered T (z k)) t) as share.
  { intros T above.
    assert (0 < T) as T_pos by lra.
    apply Rle_trans with (total_on n A (softmax n (tempered T (z k))) / m).
    - apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, m_pos|].
      apply right_mass_from_gap; try assumption; apply run_gap_at_least.
    - apply likeliest_share; [assumption|assumption|exact t_right|].
      intros b b_inside b_chosen; unfold tempered, Rdiv; apply Rmult_le_compat_r;
        [apply Rlt_le, Rinv_0_lt_compat, T_pos|apply t_stays_likeliest; assumption]. }
  assert (r / m <= softmax n (z k) t) as share_1.
  { rewrite <- softmax_tempered_1 by assumption; apply share, Rmin_r. }
  assert (r / m <= softmax n (tempered (temperature k) (z k)) t) as share_T.
  { apply share, Rle_trans with low; [apply Rmin_l|apply range]. }
  assert (r / m * (1 - E) * pushed k <= eta * (step t - step a)); [|lra].
  unfold pushed, push.
  set (x := kappa k * total_on n (complement A) (softmax n (z k))).
  set (y := w k * total_on n (complement A) (softmax n (tempered (temperature k) (z k)))).
  assert (0 <= x /\ 0 <= y) as (x_nonneg & y_nonneg).
  { pose proof (wrong_mass_pos n (z k) A some wrong).
    pose proof (wrong_mass_pos n (tempered (temperature k) (z k)) A some wrong).
    split; apply Rmult_le_pos; (apply kappa_nonneg || apply w_nonneg || lra). }
  replace (r / m * (1 - E) * (eta * (x + y))) with (eta * (r / m * (1 - E) * x + r / m * (1 - E) * y)) by ring.
  apply Rmult_le_compat_l; [lra|].
  assert (step t = x * softmax n (z k) t + y * softmax n (tempered (temperature k) (z k)) t) as step_t
    by (apply ablated_right; [assumption|exact t_right]).
  pose proof (softmax_pos n (z k) t (nonempty_inhabited n A some)) as t_pos.
  pose proof (softmax_pos n (tempered (temperature k) (z k)) t (nonempty_inhabited n A some)) as t_pos_T.
  assert (r / m * (1 - E) <= softmax n (z k) t * (1 - E)) by (apply Rmult_le_compat_r; lra).
  assert (r / m * (1 - E) <= softmax n (tempered (temperature k) (z k)) t * (1 - E))
    by (apply Rmult_le_compat_r; lra).
  assert (r / m * (1 - E) * x <= softmax n (z k) t * (1 - E) * x) by (apply Rmult_le_compat_r; assumption).
  assert (r / m * (1 - E) * y <= softmax n (tempered (temperature k) (z k)) t * (1 - E) * y)
    by (apply Rmult_le_compat_r; assumption).
  unfold E in *; destruct (A a) eqn:chosen.
  - assert (step a = x * softmax n (z k) a + y * softmax n (tempered (temperature k) (z k)) a) as step_a
      by (apply ablated_right; assumption).
    set (e := exp (- ((start t - start a) / scale))) in *.
    pose proof (right_lead_at_least k a inside chosen) as leads.
    assert (0 <= start t - start a) as behind.
    { apply likeliest_spec in t_top; [|assumption]; destruct t_top as [_ t_is].
      pose proof (largest_on_ge n A start a inside chosen); lra. }
    assert (forall T, 0 < T -> T <= scale ->
              softmax n (tempered T (z k)) a <= softmax n (tempered T (z k)) t * e) as smaller.
    { intros T T_pos T_small.
      rewrite (softmax_conditional n A some _ a), (softmax_conditional n A some _ t)
        by (assumption || exact t_right).
      rewrite (conditional_ratio n A some (tempered T (z k)) a t) by (assumption || exact t_right).
      rewrite !Rmult_assoc; apply Rmult_le_compat_l.
      { apply Rlt_le, right_mass_pos; assumption. }
      apply Rmult_le_compat_l; [apply conditional_nonneg; assumption|].
      apply exp_le; unfold tempered.
      apply Rle_trans with (- ((start t - start a) / T)).
      - replace (z k a / T - z k t / T) with (- ((z k t - z k a) / T)) by (field; lra).
        apply Ropp_le_contravar, Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, T_pos|assumption].
      - apply Ropp_le_contravar, Rmult_le_compat_l; [assumption|apply Rinv_le_contravar; assumption]. }
    pose proof (smaller 1 Rlt_0_1 scale_large) as small_1; rewrite !softmax_tempered_1 in small_1 by assumption.
    pose proof (smaller (temperature k) (positive k) ltac:(destruct (range k); unfold scale;
      pose proof (Rmax_l high 1); lra)) as small_T.
    apply Rmult_le_compat_l with (r := x) in small_1; [|assumption].
    apply Rmult_le_compat_l with (r := y) in small_T; [|assumption].
    rewrite step_t, step_a; lra.
  - assert (step a <= 0) as falls.
    { apply (wrong_logit_falls n (z k) A (temperature k) (kappa k) (w k)); auto. }
    rewrite step_t; lra.
Qed.

Lemma others_vanish a : (a < n)%nat -> top a = false -> tends_to (fun k => softmax n (z k) a) 0.
Proof.
  intros inside out; destruct (lead_share a inside out) as (g & g_pos & grows).
  assert (forall k, start t - start a + g * total_push k <= z k t - z k a) as leads.
  { induction k as [|k IH].
    - unfold total_push; simpl; change (z 0%nat) with start; lra.
    - specialize (grows k); unfold total_push in *; simpl; lra. }
  intros e e_pos.
  destruct (push_unbounded ((- ln e - (start t - start a)) / g)) as (N & large).
  exists N; intros k later; specialize (large k later); specialize (leads k).
  rewrite Rminus_0_r, Rabs_pos_eq by (apply Rlt_le, softmax_pos, (nonempty_inhabited n A some)).
  apply Rmult_lt_compat_l with (r := g) in large; [|assumption].
  replace (g * ((- ln e - (start t - start a)) / g)) with (- ln e - (start t - start a)) in large by (field; lra).
  apply Rle_lt_trans with (exp (z k a - z k t)).
  - unfold softmax.
    pose proof (normalizer_pos n (z k) (nonempty_inhabited n A some)) as normalizer.
    assert (exp (z k t) <= sum n (fun b => exp (z k b))) as part
      by (apply (sum_ge_term n (fun b => exp (z k b))); [intros; apply Rlt_le, exp_pos|assumption]).
    unfold Rminus; rewrite exp_plus, exp_Ropp.
    apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|].
    apply Rinv_le_contravar; [apply exp_pos|assumption].
  - rewrite <- (exp_ln e e_pos); apply exp_increasing; lra.
Qed.

End Top.

Theorem ablation_collapses : tends_to (fun k => entropy n (z k)) (ln (count_on n top)).
Proof.
  pose proof (likeliest_some n A start some) as top_some; fold top in top_some.
  destruct top_some as (t & t_inside & t_top).
  apply entropy_tends_to_log_count; [exists t; auto| |].
  - apply (tends_to_total_on n (complement top) (fun k => softmax n (z k))).
    intros a inside out; apply (others_vanish t t_inside t_top); [assumption|].
    apply complement_true, out.
  - intros e e_pos; exists 0%nat; intros k _.
    assert (nonempty n top) as top_some by (exists t; auto).
    assert (range_on n top (z k) = 0) as ->; [|rewrite Rminus_0_r, Rabs_R0; assumption].
    destruct (largest_on_attained n top (z k) top_some) as (a & a_inside & a_top & a_is).
    destruct (smallest_on_attained n top (z k) top_some) as (b & b_inside & b_top & b_is).
    apply Rle_antisym; [|apply range_nonneg, top_some].
    unfold range_on; rewrite a_is, b_is.
    assert (A a = true) by (apply likeliest_spec in a_top; tauto).
    pose proof (t_stays_likeliest b b_inside b_top k a a_inside ltac:(assumption)); lra.
Qed.

(** H(q) never rises along the run. *)
Theorem run_conditional_entropy_falls k : conditional_entropy n (z (S k)) A <= conditional_entropy n (z k) A.
Proof. apply (conditional_entropy_falls n (z k) A (temperature k) (kappa k) (w k) eta); auto. Qed.

End Run.
