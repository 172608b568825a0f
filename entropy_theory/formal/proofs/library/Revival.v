(** How long a collapsed policy on the solved face takes to revive at T > 1: a time like e^{D/T}.

    V = e^{D/T} falls by at most 2 eta (m - 1)/T in a step, and for two answers by at least
    eta c(D)/(T + eta), where c(D) = f_T(D) e^{D/T} increases with D. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone TwoAnswers
  RightAnswers.
Open Scope R_scope.

(** c(D) *)
Definition slowness (gap temperature : R) : R := speed gap temperature * exp (gap / temperature).

(** * Any number of answers *)

Section Face.

Variables (n : nat) (z : vector) (T : R) (top : nat) (D : R).
Hypothesis top_inside : (top < n)%nat.
Hypothesis hot : 0 < T.
(** D is at most the gap between the likeliest answer and any other. *)
Hypothesis leads : forall a, (a < n)%nat -> a <> top -> D <= z top - z a.

Let q := softmax n z.
Let qT := softmax n (tempered T z).

Lemma sum_but_one f c :
  (forall a, (a < n)%nat -> a <> top -> f a <= c) -> sum n f <= f top + (INR n - 1) * c.
Proof.
  clear leads hot q qT; revert top_inside; induction n as [|k IH]; intros inside below; [lia|].
  rewrite S_INR; simpl; destruct (Nat.eq_dec top k) as [same|other].
  - subst k; assert (sum top f <= INR top * c); [|lra].
    rewrite <- (sum_const top c); apply sum_le; intros a before; apply below; lia.
  - assert (f k <= c) by (apply below; [lia|congruence]).
    assert (sum k f <= f top + (INR k - 1) * c) by (apply IH; [lia|intros; apply below; lia]); lra.
Qed.

Lemma tempered_top_at_least : / (1 + (INR n - 1) * exp (- D / T)) <= qT top.
Proof.
  assert (qT top = / sum n (fun b => exp (tempered T z b - tempered T z top))) as ->.
  { unfold qT, softmax; pose proof (normalizer_pos n (tempered T z) ltac:(lia)) as normalizer.
    pose proof (exp_pos (tempered T z top)).
    rewrite (sum_ext n (fun b => exp (tempered T z b - tempered T z top))
               (fun b => exp (tempered T z b) * / exp (tempered T z top))).
    - rewrite sum_scal_r; field; lra.
    - intros; unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity. }
  apply Rinv_le_contravar.
  - apply sum_pos; [lia|intros; apply exp_pos].
  - apply Rle_trans with (exp (tempered T z top - tempered T z top) + (INR n - 1) * exp (- D / T)).
    + apply (sum_but_one (fun b => exp (tempered T z b - tempered T z top))).
      intros a inside other; apply exp_le; unfold tempered.
      specialize (leads a inside other); apply Rmult_le_reg_r with T; [assumption|].
      replace ((z a / T - z top / T) * T) with (z a - z top) by (field; lra).
      replace (- D / T * T) with (- D) by (field; lra); lra.
    + rewrite Rminus_eq_0, exp_0; lra.
Qed.

(** The likeliest answer's lead falls by at most 2 (m - 1) e^{-D/T} per unit learning rate. *)
Theorem lead_falls_slowly a :
  (a < n)%nat -> (2 <= n)%nat ->
  unit_step n z (fun _ => true) T a - unit_step n z (fun _ => true) T top
  <= 2 * (INR n - 1) * exp (- D / T).
Proof.
  intros inside two.
  assert (forall b, unit_step n z (fun _ => true) T b = qT b - q b) as face_step.
  { intros b; unfold unit_step; rewrite only_in, total_on_everything by (reflexivity || (intros c _; reflexivity)).
    rewrite softmax_sum by lia; unfold q, qT; ring. }
  rewrite !face_step.
  pose proof tempered_top_at_least as low.
  set (W := (INR n - 1) * exp (- D / T)) in *.
  assert (2 <= INR n) as large by (change 2 with (INR 2); apply le_INR, two).
  assert (0 < W) as W_pos by (apply Rmult_lt_0_compat; [lra|apply exp_pos]).
  assert (1 - W <= / (1 + W)) as share.
  { apply Rmult_le_reg_r with (1 + W); [lra|]; rewrite Rinv_l by lra.
    pose proof (Rle_0_sqr W) as square; unfold Rsqr in square; lra. }
  assert (q top <= 1) by (apply softmax_le_1; assumption).
  assert (0 < q a) by (apply softmax_pos; lia).
  destruct (Nat.eq_dec a top) as [->|other].
  - unfold W in *; lra.
  - assert (qT a + qT top <= 1) as both.
    { rewrite <- (softmax_sum n (tempered T z)) by lia; fold qT.
      clear - inside top_inside other.
      assert (forall b, 0 <= qT b) as nonneg by (intros; apply Rlt_le, softmax_pos; lia).
      revert nonneg; generalize qT; intros f nonneg; revert inside top_inside.
      induction n as [|k IH]; intros a_in t_in; [lia|]; simpl.
      destruct (Nat.eq_dec a k) as [->|a_before]; [|destruct (Nat.eq_dec top k) as [->|t_before]].
      - assert (f top <= sum k f) by (apply sum_ge_term; [auto|lia]); lra.
      - assert (f a <= sum k f) by (apply sum_ge_term; [auto|lia]); lra.
      - assert (f a + f top <= sum k f) by (apply IH; lia); specialize (nonneg k); lra. }
    replace (2 * (INR n - 1) * exp (- D / T)) with (2 * W) by (unfold W; ring); lra.
Qed.

End Face.

(** No pair draws together by more than 2 W, W = sum_{a <> 1} e^{-(z_1 - z_a)/T}, per unit learning rate. *)
Theorem pairs_fall_slowly n z T a b :
  (2 <= n)%nat -> 1 < T -> (a < n)%nat -> (b < n)%nat ->
  (softmax n (tempered T z) b - softmax n z b) - (softmax n (tempered T z) a - softmax n z a)
  <= 2 * (sum n (fun c => exp (- ((largest n z - z c) / T))) - 1).
Proof.
  intros two hot a_inside b_inside; assert (0 < n)%nat as some by lia.
  destruct (largest_attained n z some) as (t & t_inside & top).
  set (q := softmax n z); set (p := softmax n (tempered T z)).
  set (total := sum n (fun c => exp (- ((largest n z - z c) / T)))).
  assert (0 < / T < 1) as cool.
  { split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_lt_contravar; lra]. }
  assert (forall c, (c < n)%nat -> z c <= z t) as below by (intros; rewrite <- top; apply largest_ge; assumption).
  assert (forall y c, softmax n y c = exp (y c - y t) * / sum n (fun d => exp (y d - y t))) as relative.
  { intros y c; unfold softmax; pose proof (normalizer_pos n y some) as normalizer; pose proof (exp_pos (y t)).
    rewrite (sum_ext n (fun d => exp (y d - y t)) (fun d => exp (y d) * / exp (y t)))
      by (intros; unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity).
    rewrite sum_scal_r; unfold Rminus; rewrite exp_plus, exp_Ropp; field; lra. }
  assert (sum n (fun d => exp (tempered T z d - tempered T z t)) = total) as same_total.
  { apply sum_ext; intros d _; rewrite top; f_equal; unfold tempered; field; lra. }
  assert (p t = / total) as p_t.
  { unfold p; rewrite relative, same_total, Rminus_eq_0, exp_0; ring. }
  assert (forall c, (c < n)%nat -> c <> t -> exp (- ((z t - z c) / T)) <= total - 1) as part.
  { intros c inside other.
    pose proof (sum_ge_pair n (fun d => exp (- ((largest n z - z d) / T))) t c
                  (fun d _ => Rlt_le _ _ (exp_pos _)) t_inside inside (not_eq_sym other)) as pair.
    simpl in pair; fold total in pair; rewrite top in pair.
    replace (- ((z t - z t) / T)) with 0 in pair by (unfold Rdiv; ring); rewrite exp_0 in pair; lra. }
  assert (exists c, (c < n)%nat /\ c <> t) as (c & c_inside & c_other).
  { destruct (Nat.eq_dec t 0) as [->|other]; [exists 1%nat; lia|exists 0%nat; lia]. }
  assert (1 < total) as total_large by (pose proof (part c c_inside c_other); pose proof (exp_pos (- ((z t - z c) / T))); lra).
  assert (1 - / total <= total - 1) as share.
  { apply Rmult_le_reg_r with total; [lra|]; rewrite Rmult_minus_distr_r, Rinv_l by lra.
    pose proof (Rle_0_sqr (total - 1)) as square; unfold Rsqr in square; lra. }
  assert (p b - q b <= total - 1) as first.
  { destruct (Nat.eq_dec b t) as [->|other].
    - assert (p t <= q t); [|lra].
      rewrite p_t; unfold q; rewrite relative, Rminus_eq_0, exp_0, Rmult_1_l.
      apply Rinv_le_contravar; [apply sum_pos; [assumption|intros; apply exp_pos]|].
      apply sum_le; intros d inside; apply exp_le; rewrite top; specialize (below d inside).
      assert (0 <= (z t - z d) * (1 - / T)) by (apply Rmult_le_pos; lra); unfold Rdiv; lra.
    - pose proof (sum_ge_pair n p b t (fun d _ => Rlt_le _ _ (softmax_pos n _ d some)) b_inside t_inside other)
        as pair.
      assert (sum n p = 1) as one by (apply softmax_sum, some); rewrite one, p_t in pair.
      pose proof (softmax_pos n z b some) as q_pos; fold q in q_pos; lra. }
  assert (q a - p a <= total - 1) as second.
  { pose proof (softmax_pos n (tempered T z) a some) as p_pos; fold p in p_pos.
    destruct (Nat.eq_dec a t) as [->|other].
    - pose proof (softmax_le_1 n z t t_inside) as q_1; fold q in q_1; lra.
    - pose proof (part a a_inside other) as small.
      assert (q a <= exp (- ((z t - z a) / T))); [|lra].
      assert (q a = q t * exp (z a - z t)) as ->.
      { unfold q; rewrite !relative, Rminus_eq_0, exp_0; ring. }
      pose proof (softmax_le_1 n z t t_inside) as q_1; fold q in q_1.
      apply Rle_trans with (1 * exp (z a - z t)).
      + apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|assumption].
      + rewrite Rmult_1_l; apply exp_le; specialize (below a a_inside).
        assert (0 <= (z t - z a) * (1 - / T)) by (apply Rmult_le_pos; lra); unfold Rdiv; lra. }
  lra.
Qed.

(** * Two answers *)

Section Two.

Variable T : R.
Hypothesis hot : 1 < T.

Lemma slowness_eq D :
  slowness D T = 2 * (1 - exp (- (D * (1 - / T)))) / ((1 + exp (- D / T)) * (1 + exp (- D))).
Proof.
  unfold slowness, speed.
  assert (exp (- D / T) * exp (D / T) = 1) as one.
  { rewrite <- exp_plus; replace (- D / T + D / T) with 0 by (field; lra); apply exp_0. }
  assert (exp (- D) * exp (D / T) = exp (- (D * (1 - / T)))) as other.
  { rewrite <- exp_plus; f_equal; field; lra. }
  pose proof (exp_pos (- D / T)); pose proof (exp_pos (- D)).
  replace (2 * (1 - exp (- (D * (1 - / T))))) with (2 * (exp (- D / T) - exp (- D)) * exp (D / T)) by lra.
  field; lra.
Qed.

Lemma slowness_nonneg D : 0 <= D -> 0 <= slowness D T.
Proof.
  intros nonneg; apply Rmult_le_pos; [apply speed_hot; lra|apply Rlt_le, exp_pos].
Qed.

Lemma slowness_increases D E : 0 <= D -> D <= E -> slowness D T <= slowness E T.
Proof.
  intros nonneg below; rewrite !slowness_eq.
  assert (0 < 1 - / T) as share.
  { assert (/ T < 1) by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra); lra. }
  assert (0 <= D * (1 - / T)) as start by (apply Rmult_le_pos; lra).
  assert (D * (1 - / T) <= E * (1 - / T)) as further by (apply Rmult_le_compat_r; lra).
  pose proof (exp_le_1 (- (D * (1 - / T))) ltac:(lra)).
  pose proof (exp_le (- (E * (1 - / T))) (- (D * (1 - / T))) ltac:(lra)).
  assert (- E / T <= - D / T) by (apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|lra]).
  pose proof (exp_le (- E / T) (- D / T) ltac:(assumption)); pose proof (exp_le (- E) (- D) ltac:(lra)).
  pose proof (exp_pos (- E / T)); pose proof (exp_pos (- E)).
  apply Rmult_le_compat; [lra| |lra|].
  - apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; lra.
  - apply Rinv_le_contravar; [apply Rmult_lt_0_compat; lra|apply Rmult_le_compat; lra].
Qed.

Lemma speed_at_most_hot D : 0 <= D -> speed D T <= 2 * exp (- D / T).
Proof.
  intros nonneg; unfold speed.
  pose proof (exp_pos (- D / T)) as u_pos; pose proof (exp_pos (- D)) as w_pos.
  set (u := exp (- D / T)) in *; set (w := exp (- D)) in *.
  apply Rmult_le_reg_r with ((1 + u) * (1 + w)); [apply Rmult_lt_0_compat; lra|].
  replace (2 * (u - w) / ((1 + u) * (1 + w)) * ((1 + u) * (1 + w))) with (2 * (u - w)) by (field; lra).
  assert (0 < u * u) by (apply Rmult_lt_0_compat; assumption).
  assert (0 < u * w) by (apply Rmult_lt_0_compat; assumption).
  assert (0 < u * u * w) by (apply Rmult_lt_0_compat; assumption).
  lra.
Qed.

Variable eta : R.
Hypothesis eta_pos : 0 < eta.

Let after_step D := D - eta * speed D T.

(** V falls by 2 eta/T at most ... *)
Lemma falls_slowly D : 0 <= D -> exp (D / T) - exp (after_step D / T) <= 2 * eta / T.
Proof.
  intros nonneg; pose proof (speed_at_most_hot D nonneg) as slow.
  assert (exp (after_step D / T) = exp (D / T) * exp (- (eta * speed D T / T))) as ->.
  { rewrite <- exp_plus; f_equal; unfold after_step; field; lra. }
  pose proof (exp_ineq1_le (- (eta * speed D T / T))) as above.
  pose proof (exp_pos (D / T)) as V_pos.
  apply Rmult_le_compat_l with (r := exp (D / T)) in above; [|lra].
  assert (exp (D / T) * (eta * speed D T / T) <= 2 * eta / T); [|lra].
  replace (exp (D / T) * (eta * speed D T / T)) with (eta / T * (speed D T * exp (D / T))) by (field; lra).
  replace (2 * eta / T) with (eta / T * (2 * exp (- D / T) * exp (D / T))).
  - apply Rmult_le_compat_l; [apply Rlt_le, Rdiv_lt_0_compat; lra|].
    apply Rmult_le_compat_r; lra.
  - rewrite Rmult_assoc, <- exp_plus; replace (- D / T + D / T) with 0 by (field; lra).
    rewrite exp_0; field; lra.
Qed.

(** ... and by eta c/(T + eta) at least. *)
Lemma falls_surely D : 0 <= D -> eta * slowness D T / (T + eta) <= exp (D / T) - exp (after_step D / T).
Proof.
  intros nonneg.
  pose proof (speed_below_1 D T nonneg ltac:(lra)) as below; pose proof (speed_hot D T nonneg ltac:(lra)) as above.
  unfold slowness; set (f := speed D T) in *; set (V := exp (D / T)).
  assert (0 < V) as V_pos by apply exp_pos.
  set (V' := exp (after_step D / T)).
  assert (0 < V') as V'_pos by apply exp_pos.
  assert (V' * (1 + eta * f / T) <= V) as shrinks.
  { assert (V = V' * exp (eta * f / T)) as ->.
    { unfold V, V'; rewrite <- exp_plus; f_equal; unfold after_step; fold f; field; lra. }
    apply Rmult_le_compat_l; [lra|apply exp_ineq1_le]. }
  assert (0 <= eta * f) as pace by (apply Rmult_le_pos; lra).
  assert (eta * f <= eta) as slow by (rewrite <- (Rmult_1_r eta) at 2; apply Rmult_le_compat_l; lra).
  assert (V' * (T + eta * f) <= V * T) as scaled.
  { replace (V' * (T + eta * f)) with (V' * (1 + eta * f / T) * T) by (field; lra).
    apply Rmult_le_compat_r; lra. }
  apply Rmult_le_reg_r with (T + eta); [lra|].
  replace (eta * (f * V) / (T + eta) * (T + eta)) with (eta * f * V) by (field; lra).
  assert ((V - V') * (T + eta * f) <= (V - V') * (T + eta)); [|lra].
  apply Rmult_le_compat_l; [|lra].
  assert (0 <= V' * (eta * f / T)).
  { apply Rmult_le_pos; [lra|apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]]. }
  lra.
Qed.

(** Any run of gaps D, D', ... with eta <= 2. *)
Hypothesis eta_small : eta <= 2.
Variable gap : nat -> R.
Hypothesis start_nonneg : 0 <= gap 0%nat.
Hypothesis runs : forall k, gap (S k) = after_step (gap k).

Lemma gap_nonneg k : 0 <= gap k.
Proof.
  induction k as [|k IH]; [assumption|]; rewrite runs; unfold after_step.
  pose proof (speed_at_most_half (gap k) T IH ltac:(lra)); pose proof (speed_hot (gap k) T IH ltac:(lra)).
  assert (eta * speed (gap k) T <= 2 * (gap k / 2)) by (apply Rmult_le_compat; lra); lra.
Qed.

Lemma gap_falls i j : (i <= j)%nat -> gap j <= gap i.
Proof.
  intros later; induction later as [|j later IH]; [lra|]; rewrite runs; unfold after_step.
  pose proof (speed_hot (gap j) T (gap_nonneg j) ltac:(lra)).
  assert (0 <= eta * speed (gap j) T) by (apply Rmult_le_pos; lra); lra.
Qed.

(** The number of steps from one gap down to another. *)
Theorem steps_at_least N : T / (2 * eta) * (exp (gap 0%nat / T) - exp (gap N / T)) <= INR N.
Proof.
  induction N as [|N IH]; [rewrite Rminus_eq_0; simpl; lra|].
  rewrite S_INR.
  pose proof (falls_slowly (gap N) (gap_nonneg N)) as fall; rewrite <- runs in fall.
  apply Rmult_le_compat_l with (r := T / (2 * eta)) in fall; [|apply Rlt_le, Rdiv_lt_0_compat; lra].
  replace (T / (2 * eta) * (2 * eta / T)) with 1 in fall by (field; lra); lra.
Qed.

Theorem steps_at_most N :
  INR N * (eta * slowness (gap N) T) <= (T + eta) * (exp (gap 0%nat / T) - exp (gap N / T)).
Proof.
  assert (forall k, (k <= N)%nat ->
            INR k * (eta * slowness (gap N) T) <= (T + eta) * (exp (gap 0%nat / T) - exp (gap k / T))) as upto.
  { induction k as [|k IH]; intros before; [rewrite Rminus_eq_0; simpl; lra|].
    rewrite S_INR; specialize (IH ltac:(lia)).
    pose proof (falls_surely (gap k) (gap_nonneg k)) as fall; rewrite <- runs in fall.
    apply Rmult_le_compat_l with (r := T + eta) in fall; [|lra].
    replace ((T + eta) * (eta * slowness (gap k) T / (T + eta))) with (eta * slowness (gap k) T) in fall
      by (field; lra).
    assert (eta * slowness (gap N) T <= eta * slowness (gap k) T).
    { apply Rmult_le_compat_l; [lra|apply slowness_increases; [apply gap_nonneg|apply gap_falls; lia]]. }
    lra. }
  apply upto; lia.
Qed.

End Two.
