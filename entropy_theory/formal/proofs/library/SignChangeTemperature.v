(** The temperature T0 at which F changes sign: there is one in (0, inf) exactly if mean_{A*} c < C < max_{A*} c. *)

From Coq Require Import Reals Lra Lia Bool Ranalysis5.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks TemperedReinforce OwnCovariance
  TemperedRate SignChange.
Open Scope R_scope.

Section SignChangeTemperature.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : (0 < n)%nat.
Hypothesis some_correct : nonempty n A.

Let w := excess n z.

Lemma rise_somewhere : sum_of_excess n z A < 0 -> exists T, 0 < T /\ 0 < rate n z A T.
Proof.
  intros negative.
  pose proof (span_nonneg n z A some_correct) as span; pose proof (missing_nonneg n z A) as nonneg.
  set (S := sum_of_excess n z A) in *.
  set (RW := (largest_on n A z - smallest_on n A z) * missing n z A).
  assert (0 <= RW) by (apply Rmult_le_pos; assumption).
  exists ((RW + 1) / - S).
  assert (0 < (RW + 1) / - S) as positive by (apply Rdiv_lt_0_compat; lra).
  split; [assumption|].
  apply hot_rises; [assumption|assumption|].
  unfold hot_enough; fold S RW.
  replace (- ((RW + 1) / - S) * S - RW) with 1 by (field; lra); lra.
Qed.

(** No action with a negative excess is at the top of A*. *)
Lemma distance_pos : 0 < largest_excess n z A -> 0 < missing n z A -> 0 < distance n z A.
Proof.
  intros positive below.
  destruct (top_excess n z A some some_correct positive) as (t & t_inside & t_correct & is_top & most).
  assert (forall a, (a < n)%nat -> A a = true -> excess n z a < 0 -> z a < largest_on n A z) as lower.
  { intros a inside correct negative.
    destruct (largest_on_ge n A z a inside correct) as [less_a|same]; [assumption|exfalso].
    assert (excess n z a = excess n z t); [|lra].
    rewrite !excess_eq; unfold own_covariance, centered, softmax; rewrite same, is_top; reflexivity. }
  unfold distance.
  destruct (largest_attained n
              (fun b => if A b && less (excess n z b) 0 then z b else smallest_on n A z) some)
    as (b & b_inside & ->).
  destruct (A b && less (excess n z b) 0) eqn:counts.
  - apply andb_true_iff in counts; destruct counts as [b_correct b_below]; apply less_true in b_below.
    pose proof (lower b b_inside b_correct b_below); lra.
  - destruct (total_on_pos_exists n A _ below) as (a & inside & correct & term); simpl in term.
    assert (excess n z a < 0).
    { destruct (Rlt_or_le (excess n z a) 0); [assumption|].
      rewrite Rmax_right in term by lra; lra. }
    pose proof (lower a inside correct ltac:(assumption)).
    pose proof (smallest_on_le n A z a inside correct); lra.
Qed.

Lemma fall_somewhere : 0 < largest_excess n z A -> exists T, 0 < T /\ rate n z A T < 0.
Proof.
  intros positive.
  destruct (missing_nonneg n z A) as [below|none].
  - pose proof (distance_pos positive below) as far.
    set (D := distance n z A) in *; set (W := missing n z A) in *; set (m := largest_excess n z A) in *.
    exists (D * m / W).
    assert (0 < D * m / W) as temperature by (apply Rdiv_lt_0_compat; [nra|assumption]).
    split; [assumption|].
    apply cold_falls; [assumption|assumption|assumption|].
    unfold cold_enough; fold D W m.
    replace (- D / (D * m / W)) with (- (W / m)) by (field; lra).
    assert (0 < W / m) as ratio by (apply Rdiv_lt_0_compat; assumption).
    pose proof (exp_ineq1 (W / m) ltac:(lra)) as above.
    pose proof (exp_pos (W / m)).
    rewrite exp_Ropp.
    assert (W * / exp (W / m) < m); [|lra].
    apply (Rmult_lt_reg_r (exp (W / m))); [assumption|].
    replace (W * / exp (W / m) * exp (W / m)) with W by (field; lra).
    replace W with (m * (W / m)) at 1 by (field; lra).
    apply Rmult_lt_compat_l; lra.
  - exists 1; split; [lra|].
    apply cold_falls; [assumption|assumption|lra|].
    unfold cold_enough; rewrite <- none; lra.
Qed.

Lemma rate_continuous T : 0 < T -> continuity_pt (rate n z A) T.
Proof.
  intros positive; apply derivable_continuous_pt.
  exists (scaled_slope n z A T / (T * T)); apply derivative_rate; assumption.
Qed.

(** F has both signs, the one below T0 and the other above it, exactly if mean_{A*} c < C < max_{A*} c. *)
Theorem sign_change_iff :
  (exists T0, 0 < T0 /\
     (forall T, 0 < T -> T < T0 -> rate n z A T < 0) /\ (forall T, T0 < T -> 0 < rate n z A T))
  <-> sum_of_excess n z A < 0 /\ 0 < largest_excess n z A.
Proof.
  split.
  - intros (T0 & positive & cold & hot); split.
    + apply (rise_needs_sum n z A some (2 * T0)); [lra|apply hot; lra].
    + apply (fall_needs_excess n z A some (T0 / 2)); [lra|apply cold; lra].
  - intros [sum_negative largest_positive].
    destruct (rise_somewhere sum_negative) as (hot & hot_pos & rises).
    destruct (fall_somewhere largest_positive) as (cold & cold_pos & falls).
    assert (cold < hot) as order.
    { apply Rnot_le_lt; intros above.
      pose proof (rate_stays_positive n z A some hot cold hot_pos above rises); lra. }
    destruct (IVT_interv (rate n z A) cold hot) as (T0 & between & zero); [|assumption|assumption|assumption|].
    { intros T inside; apply rate_continuous; lra. }
    assert (0 < largest_on n A (fun a => Rabs (w a))) as differs.
    { destruct (largest_on_attained n A w some_correct) as (a & inside & correct & is_most).
      unfold largest_excess in largest_positive; fold w in largest_positive; rewrite is_most in largest_positive.
      pose proof (largest_on_ge n A (fun b => Rabs (w b)) a inside correct) as bound; simpl in bound.
      pose proof (Rle_abs (w a)); lra. }
    exists T0; repeat split; [lra| |].
    + intros T positive below.
      apply (fall_continues n z A some some_correct T0); [assumption|assumption|assumption|lra].
    + intros T above.
      apply (rise_continues n z A some some_correct T0); [lra|assumption|assumption|lra].
Qed.

(** Where c = C on all of A*, F vanishes. *)
Lemma rate_vanishes T : largest_on n A (fun a => Rabs (w a)) <= 0 -> rate n z A T = 0.
Proof.
  intros none; unfold rate.
  rewrite (total_on_ext n A _ (fun _ => 0)); [rewrite total_on_zero; ring|].
  intros a inside correct; fold w.
  pose proof (largest_on_ge n A (fun b => Rabs (w b)) a inside correct) as bound; simpl in bound.
  pose proof (Rabs_pos (w a)).
  destruct (Req_dec (w a) 0) as [->|other]; [ring|].
  pose proof (Rabs_pos_lt (w a) other); lra.
Qed.

(** F has one sign at all temperatures, or vanishes at all of them, or is negative below a T0 and positive above. *)
Theorem one_sign_change :
  (forall T, 0 < T -> rate n z A T = 0) \/
  (forall T, 0 < T -> 0 < rate n z A T) \/
  (forall T, 0 < T -> rate n z A T < 0) \/
  (exists T0, 0 < T0 /\
     (forall T, 0 < T -> T < T0 -> rate n z A T < 0) /\ (forall T, T0 < T -> 0 < rate n z A T)).
Proof.
  destruct (Rle_or_lt (largest_on n A (fun a => Rabs (w a))) 0) as [none|differs].
  { left; intros T _; apply rate_vanishes, none. }
  right.
  assert (forall T0, 0 < T0 -> rate n z A T0 = 0 ->
            (forall T, 0 < T -> T < T0 -> rate n z A T < 0) /\ (forall T, T0 < T -> 0 < rate n z A T)) as around.
  { intros T0 positive zero; split.
    - intros T T_pos below; apply (fall_continues n z A some some_correct T0); [assumption|assumption|assumption|lra].
    - intros T above; apply (rise_continues n z A some some_correct T0); [lra|assumption|assumption|lra]. }
  destruct (Rle_or_lt (largest_excess n z A) 0) as [low|up].
  { left; intros T positive.
    destruct (Rtotal_order (rate n z A T) 0) as [falls|[zero|rises]]; [|exfalso|assumption].
    - pose proof (fall_needs_excess n z A some T positive falls); lra.
    - destruct (around T positive zero) as [before _].
      pose proof (fall_needs_excess n z A some (T / 2) ltac:(lra) (before (T / 2) ltac:(lra) ltac:(lra))); lra. }
  destruct (Rle_or_lt 0 (sum_of_excess n z A)) as [high|negative].
  { right; left; intros T positive.
    destruct (Rtotal_order (rate n z A T) 0) as [falls|[zero|rises]]; [assumption|exfalso|exfalso].
    - destruct (around T positive zero) as [_ after].
      pose proof (rise_needs_sum n z A some (2 * T) ltac:(lra) (after (2 * T) ltac:(lra))); lra.
    - pose proof (rise_needs_sum n z A some T positive rises); lra. }
  right; right; apply sign_change_iff; split; assumption.
Qed.

End SignChangeTemperature.
