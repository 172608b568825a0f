(** Extension of Entropy Mechanism, Lemma 1: with one likely action the second order of entropy under Adam's noise turns
    from minus to plus at one gap, which lies between 1 and 2 + log m. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks OneRight OwnCovariance Noise NoiseShapes OneLikely.
From Trusted.Statements.extension Require adam_level.
Open Scope R_scope.

(** * The two signs *)

Section Signs.

Variable m : R.
Hypothesis m_least : 1 <= m.

Definition x (e : R) := m * e.
Definition s (e : R) := sqrt (m / (1 + (m - 1) * e)).
Definition r (e : R) := e * s e.

Definition settled_sign (gap e : R) : R := 2 * gap * (1 - r e) - (1 + x e) * (2 + x e - r e).
Definition sign_sign (gap e : R) : R :=
  gap * ((1 - e) * (1 - (m - 2) * e)) - (1 + x e) * (1 + e + (m - 1) * (e * e)).

Definition sign_closed (p q gap : R) : R :=
  - (p * p + m * (q * q) - (p * (p * p) + m * (q * (q * q)))
     + (p * (m * q) * ((gap - 0) * (p - q)) - 2 * (p * (m * q) * ((gap - 0) * (p * p - q * q))))) / 2.

Lemma under_root e : 0 < e -> 0 < 1 + (m - 1) * e.
Proof. intros positive; assert (0 <= (m - 1) * e) by (apply Rmult_le_pos; lra); lra. Qed.

Lemma s_square e : 0 < e -> s e * s e = m / (1 + (m - 1) * e).
Proof.
  intros positive; pose proof (under_root e positive); apply sqrt_sqrt, Rlt_le, Rdiv_lt_0_compat; lra.
Qed.

Lemma s_pos e : 0 < e -> 0 < s e.
Proof. intros positive; pose proof (under_root e positive); apply sqrt_lt_R0, Rdiv_lt_0_compat; lra. Qed.

Lemma s_falls e e' : 0 < e' -> e' <= e -> s e <= s e'.
Proof.
  intros positive order; pose proof (under_root e ltac:(lra)); pose proof (under_root e' positive).
  assert ((m - 1) * e' <= (m - 1) * e) by (apply Rmult_le_compat_l; lra).
  apply sqrt_le_1_alt; unfold Rdiv; apply Rmult_le_compat_l; [lra|apply Rinv_le_contravar; lra].
Qed.

Lemma s_below e : 0 < e -> s e <= m.
Proof.
  intros positive; pose proof (s_pos e positive); pose proof (s_square e positive) as square.
  pose proof (under_root e positive) as below.
  assert (m / (1 + (m - 1) * e) <= m) as less.
  { apply Rmult_le_reg_r with (1 + (m - 1) * e); [assumption|].
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    assert (0 <= m * ((m - 1) * e)) by (repeat apply Rmult_le_pos; lra); lra. }
  destruct (Rle_or_lt (s e) m) as [fine|above]; [assumption|exfalso].
  assert (m * s e < s e * s e) by (apply Rmult_lt_compat_r; assumption).
  assert (m * 1 <= m * s e) by (apply Rmult_le_compat_l; lra); lra.
Qed.

Lemma r_pos e : 0 < e -> 0 < r e.
Proof. intros positive; apply Rmult_lt_0_compat; [assumption|apply s_pos, positive]. Qed.

Lemma r_below_x e : 0 < e -> r e <= x e.
Proof.
  intros positive; unfold r, x; rewrite Rmult_comm; apply Rmult_le_compat_r; [lra|apply s_below, positive].
Qed.

Lemma r_square e : 0 < e -> r e * r e = m * (e * e) / (1 + (m - 1) * e).
Proof.
  intros positive; pose proof (under_root e positive); unfold r.
  replace (e * s e * (e * s e)) with (e * e * (s e * s e)) by ring; rewrite s_square by assumption; field; lra.
Qed.

Lemma r_below_one e : 0 < e < 1 -> r e < 1.
Proof.
  intros [positive below]; pose proof (r_square e positive) as square; pose proof (r_pos e positive).
  pose proof (under_root e positive) as under.
  assert (m * (e * e) / (1 + (m - 1) * e) < 1) as less.
  { apply Rmult_lt_reg_r with (1 + (m - 1) * e); [assumption|].
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra.
    assert (0 < (1 - e) * (1 + m * e)); [|lra].
    apply Rmult_lt_0_compat; [lra|]; assert (0 < m * e) by (apply Rmult_lt_0_compat; lra); lra. }
  destruct (Rlt_or_le (r e) 1) as [fine|above]; [assumption|exfalso].
  assert (1 * 1 <= r e * r e) by (apply Rmult_le_compat; lra); lra.
Qed.

Lemma r_grows e e' : 0 < e' -> e' <= e -> r e' <= r e.
Proof.
  intros positive order; pose proof (r_pos e' positive); pose proof (r_pos e ltac:(lra)).
  apply Rsqr_incr_0; [|lra|lra]; unfold Rsqr; rewrite !r_square by lra.
  pose proof (under_root e ltac:(lra)); pose proof (under_root e' positive).
  apply Rmult_le_reg_r with ((1 + (m - 1) * e) * (1 + (m - 1) * e')); [apply Rmult_lt_0_compat; assumption|].
  replace (m * (e' * e') / (1 + (m - 1) * e') * ((1 + (m - 1) * e) * (1 + (m - 1) * e')))
    with (m * (e' * e' + (m - 1) * (e * e' * e'))) by (field; lra).
  replace (m * (e * e) / (1 + (m - 1) * e) * ((1 + (m - 1) * e) * (1 + (m - 1) * e')))
    with (m * (e * e + (m - 1) * (e * e' * e))) by (field; lra).
  apply Rmult_le_compat_l; [lra|]; apply Rplus_le_compat; [apply Rmult_le_compat; lra|].
  apply Rmult_le_compat_l; [lra|]; apply Rmult_le_compat_l; [apply Rmult_le_pos|]; lra.
Qed.

Lemma x_less_r_grows e e' : 0 < e' -> e' <= e -> x e' - r e' <= x e - r e.
Proof.
  intros positive order; unfold x, r.
  replace (m * e' - e' * s e') with (e' * (m - s e')) by ring.
  replace (m * e - e * s e) with (e * (m - s e)) by ring.
  pose proof (s_below e' positive); pose proof (s_falls e e' positive order); apply Rmult_le_compat; lra.
Qed.

Lemma x_pos e : 0 < e -> 0 < x e.
Proof. intros; apply Rmult_lt_0_compat; lra. Qed.

(** ** Once up, up for good *)

Variables (D D' e e' : R).
Hypothesis ahead : 0 < D.
Hypothesis more : D < D'.
Hypothesis inside : 0 < e < 1.
Hypothesis low : 0 < e'.
Hypothesis order : e' < e.

Lemma x_grows : x e' <= x e.
Proof. unfold x; apply Rmult_le_compat_l; lra. Qed.

Theorem settled_turns_once : 0 <= settled_sign D e -> 0 < settled_sign D' e'.
Proof.
  unfold settled_sign; intros rises.
  pose proof (r_below_one e inside); pose proof (r_grows e e' low ltac:(lra)); pose proof x_grows.
  pose proof (x_less_r_grows e e' low ltac:(lra)); pose proof (x_pos e' low); pose proof (r_below_x e' low).
  assert (2 * D * (1 - r e) < 2 * D' * (1 - r e')).
  { apply Rlt_le_trans with (2 * D' * (1 - r e)); [apply Rmult_lt_compat_r; lra|apply Rmult_le_compat_l; lra]. }
  assert ((1 + x e') * (2 + x e' - r e') <= (1 + x e) * (2 + x e - r e)) by (apply Rmult_le_compat; lra).
  lra.
Qed.

Lemma rare_squares : (m - 1) * (e' * e') <= (m - 1) * (e * e).
Proof. apply Rmult_le_compat_l; [lra|apply Rmult_le_compat; lra]. Qed.

Theorem sign_turns_once : 0 <= sign_sign D e -> 0 < sign_sign D' e'.
Proof.
  unfold sign_sign; intros rises; pose proof x_grows; pose proof (x_pos e' low); pose proof rare_squares.
  assert (0 <= (m - 1) * (e' * e')) by (repeat apply Rmult_le_pos; lra).
  set (down := (1 + x e) * (1 + e + (m - 1) * (e * e))) in *.
  set (down' := (1 + x e') * (1 + e' + (m - 1) * (e' * e'))).
  assert (down' <= down) by (apply Rmult_le_compat; lra).
  assert (0 < down') by (apply Rmult_lt_0_compat; lra).
  set (up := (1 - e) * (1 - (m - 2) * e)) in *; set (up' := (1 - e') * (1 - (m - 2) * e')).
  assert (0 < up) as positive.
  { destruct (Rlt_or_le 0 up) as [|negative]; [assumption|exfalso].
    assert (0 <= D * - up) by (apply Rmult_le_pos; lra); lra. }
  assert (0 < 1 - (m - 2) * e) as factor.
  { apply Rmult_lt_reg_l with (1 - e); [lra|]; unfold up in positive; lra. }
  assert (up <= up') as grows.
  { unfold up, up'; destruct (Rle_or_lt 2 m) as [many|few].
    - assert ((m - 2) * e' <= (m - 2) * e) by (apply Rmult_le_compat_l; lra); apply Rmult_le_compat; lra.
    - assert (0 <= (e - e') * (m - 1)) by (apply Rmult_le_pos; lra).
      assert (0 <= (2 - m) * ((e - e') * (e + e'))) by (repeat apply Rmult_le_pos; lra); lra. }
  assert (D * up < D' * up').
  { apply Rlt_le_trans with (D' * up); [apply Rmult_lt_compat_r; lra|apply Rmult_le_compat_l; lra]. }
  lra.
Qed.

(** ** At small and at large gaps *)

Theorem settled_falls : D <= 1 -> settled_sign D e < 0.
Proof.
  intros near; unfold settled_sign; pose proof (r_below_one e inside); pose proof (r_pos e ltac:(lra)).
  pose proof (x_pos e ltac:(lra)); pose proof (r_below_x e ltac:(lra)).
  assert (2 * D * (1 - r e) <= 2 * (1 - r e)) by (apply Rmult_le_compat_r; lra).
  assert ((1 + x e) * 2 <= (1 + x e) * (2 + x e - r e)) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Theorem sign_falls : D <= 1 -> sign_sign D e < 0.
Proof.
  intros near; unfold sign_sign; pose proof (x_pos e ltac:(lra)).
  assert (0 <= (m - 1) * (e * e)) by (repeat apply Rmult_le_pos; lra).
  assert ((1 + x e) * 1 <= (1 + x e) * (1 + e + (m - 1) * (e * e))) by (apply Rmult_le_compat_l; lra).
  set (up := (1 - e) * (1 - (m - 2) * e)).
  assert (up <= 1) as most.
  { unfold up; assert (0 <= (m - 1) * (e * (1 - e))) by (repeat apply Rmult_le_pos; lra).
    assert (0 <= e * e) by (apply Rmult_le_pos; lra); lra. }
  destruct (Rle_or_lt up 0) as [negative|positive].
  - assert (0 <= D * - up) by (apply Rmult_le_pos; lra); lra.
  - assert (D * up <= 1 * 1) by (apply Rmult_le_compat; lra); lra.
Qed.

Hypothesis far : 2 <= D.
Hypothesis few : x e <= 2 / 13.

Lemma rare_few : e <= x e.
Proof. unfold x; assert (0 <= (m - 1) * e) by (apply Rmult_le_pos; lra); lra. Qed.

Theorem settled_grows : 0 < settled_sign D e.
Proof.
  unfold settled_sign; pose proof (r_below_x e ltac:(lra)); pose proof (x_pos e ltac:(lra)).
  pose proof (r_pos e ltac:(lra)).
  assert (2 * 2 * (11 / 13) <= 2 * D * (1 - r e)) by (apply Rmult_le_compat; lra).
  assert ((1 + x e) * (2 + x e - r e) <= 15 / 13 * (28 / 13)) by (apply Rmult_le_compat; lra).
  lra.
Qed.

Theorem sign_grows : 0 < sign_sign D e.
Proof.
  unfold sign_sign; pose proof rare_few; pose proof (x_pos e ltac:(lra)).
  assert (11 / 13 * (11 / 13) <= (1 - e) * (1 - (m - 2) * e)).
  { apply Rmult_le_compat; try lra; unfold x in *; lra. }
  assert (2 * (11 / 13 * (11 / 13)) <= D * ((1 - e) * (1 - (m - 2) * e))) by (apply Rmult_le_compat; lra).
  assert ((m - 1) * (e * e) <= 2 / 13 * (2 / 13)).
  { replace ((m - 1) * (e * e)) with ((x e - e) * e) by (unfold x; ring); apply Rmult_le_compat; lra. }
  assert (0 <= (m - 1) * (e * e)) by (repeat apply Rmult_le_pos; lra).
  assert ((1 + x e) * (1 + e + (m - 1) * (e * e)) <= 15 / 13 * (199 / 169)) by (apply Rmult_le_compat; lra).
  lra.
Qed.

End Signs.

(** * Closed forms *)

Section Closed.

Variables (m gap : R).
Hypothesis m_least : 1 <= m.
Hypothesis ahead : 0 < gap.

Let e := exp (- gap).

Lemma rare_inside : 0 < e < 1.
Proof. split; [apply exp_pos|]; unfold e; rewrite <- exp_0; apply exp_increasing; lra. Qed.

Lemma settled_signed :
  exists factor, 0 < factor /\
    adam_closed (likely gap m) (rare gap m) gap m = factor * settled_sign m gap e.
Proof.
  pose proof rare_inside as inside; pose proof (under_root m m_least e ltac:(lra)) as under.
  assert (0 < m * e) as x_pos by (apply Rmult_lt_0_compat; lra).
  pose proof (r_pos m m_least e ltac:(lra)) as positive.
  set (w1 := sqrt (1 / (m * e))).
  assert (0 < 1 / (m * e)) as odds by (apply Rdiv_lt_0_compat; lra).
  assert (w1 * w1 = 1 / (m * e)) as square by (apply sqrt_sqrt; lra).
  assert (sqrt (likely gap m / (m * rare gap m)) = w1) as first.
  { unfold w1, likely, rare; fold e; f_equal; field; repeat split; lra. }
  assert (sqrt (rare gap m / (1 - rare gap m)) = w1 * r m e) as second.
  { rewrite <- (sqrt_square (r m e)) by lra; unfold w1; rewrite <- sqrt_mult; [|lra|apply Rmult_le_pos; lra].
    f_equal; rewrite (r_square m m_least e) by lra.
    unfold rare; fold e; field; repeat split; lra. }
  exists ((m * e + r m e) * / (2 * (1 + m * e) ^ 3)); split.
  - apply Rmult_lt_0_compat; [lra|]; apply Rinv_0_lt_compat, Rmult_lt_0_compat; [lra|apply pow_lt; lra].
  - unfold adam_closed; rewrite first, second.
    replace (likely gap m * (m * rare gap m) * gap * (w1 - w1 * r m e)
             * (m * rare gap m * w1 + likely gap m * (w1 * r m e)))
      with (w1 * w1 * (likely gap m * (m * rare gap m) * gap * (1 - r m e) * (m * rare gap m + likely gap m * r m e)))
      by ring.
    replace ((w1 - w1 * r m e) * (w1 - w1 * r m e)) with (w1 * w1 * ((1 - r m e) * (1 - r m e))) by ring.
    rewrite square; unfold settled_sign, likely, rare; fold e; unfold x; field; repeat split; lra.
Qed.

Lemma sign_signed :
  exists factor, 0 < factor /\ sign_closed m (likely gap m) (rare gap m) gap = factor * sign_sign m gap e.
Proof.
  pose proof rare_inside as inside; assert (0 < m * e) as x_pos by (apply Rmult_lt_0_compat; lra).
  exists (m * e * / (2 * (1 + m * e) ^ 4)); split.
  - apply Rmult_lt_0_compat; [lra|]; apply Rinv_0_lt_compat, Rmult_lt_0_compat; [lra|apply pow_lt; lra].
  - unfold sign_closed, sign_sign, x, likely, rare; fold e; field; lra.
Qed.

Lemma rare_where_far : 2 + ln m <= gap -> 2 <= gap /\ m * e <= 2 / 13.
Proof.
  intros far; assert (0 <= ln m) by (rewrite <- ln_1; destruct (Req_dec m 1) as [->|]; [lra|left; apply ln_increasing; lra]).
  split; [lra|].
  assert (13 / 2 <= exp 2) as two.
  { pose proof (exp_ineq1 (1 / 8) ltac:(lra)) as eighth.
    set (g := exp (1 / 8)) in *.
    assert (exp 2 = g ^ 16) as -> by (unfold g; simpl; rewrite Rmult_1_r, <- !exp_plus; f_equal; lra).
    apply Rle_trans with ((9 / 8) ^ 16); [lra|apply pow_incr; lra]. }
  apply Rmult_le_reg_r with (exp gap); [apply exp_pos|].
  unfold e; rewrite Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0.
  assert (exp (2 + ln m) <= exp gap) as grown.
  { destruct far as [far| <-]; [left; apply exp_increasing; assumption|lra]. }
  rewrite exp_plus, exp_ln in grown by lra.
  assert (13 / 2 * m <= exp 2 * m) by (apply Rmult_le_compat_r; lra); lra.
Qed.

End Closed.

(** * The policy *)

Section OneAction.

Variables (n : nat) (A : mask) (r : nat).
Hypothesis two : (2 <= n)%nat.
Hypothesis inside : (r < n)%nat.
Hypothesis chosen : A r = true.
Hypothesis alone : forall a, (a < n)%nat -> a <> r -> A a = false.

Let m := INR n - 1.
Let z (D : R) := Statements.extension.adam_level.dominated n D A.

Lemma settled_is D :
  Statements.extension.adam_level.settled_effect n (z D) = adam_closed (likely D m) (rare D m) D m.
Proof.
  transitivity (adam_moments n (z D)); [exact (effect_adam n (z D) two)|].
  exact (adam_is n A D two r inside chosen alone).
Qed.

Lemma sign_is D :
  Statements.extension.adam_level.sign_effect n (z D) = sign_closed m (likely D m) (rare D m) D.
Proof.
  set (p := softmax n (z D)).
  transitivity (effect n (z D) (fun a b => delta a b * p b)); [reflexivity|].
  rewrite (effect_of n (z D) two _ p (fun a => p a * p a)).
  - pose proof (policy_is n A D two r inside chosen alone) as values; fold (z D) in values; fold p in values.
    assert (forall a, (a < n)%nat -> z D a = two_valued A D 0 a) as logits by (intros; reflexivity).
    assert (forall a, (a < n)%nat ->
      p a * p a = two_valued A (likely D m * likely D m) (rare D m * rare D m) a) as squares.
    { intros; rewrite values; unfold two_valued; destruct (A a); reflexivity. }
    pose proof (mean_two n A D two r inside chosen alone _ _ p (fun a _ => values a)) as first.
    pose proof (mean_two n A D two r inside chosen alone _ _ (fun a => p a * p a) squares) as second.
    pose proof (covariance_two n A D two r inside chosen alone _ _ _ _ (z D) p logits (fun a _ => values a)) as third.
    pose proof (covariance_two n A D two r inside chosen alone _ _ _ _ (z D) (fun a => p a * p a) logits squares)
      as fourth.
    transitivity (- (mean n p p - mean n p (fun a => p a * p a)
      + (covariance n p (z D) p - 2 * covariance n p (z D) (fun a => p a * p a))) / 2); [reflexivity|].
    change (softmax n (fun a => if A a then D else 0)) with p in first, second, third, fourth.
    rewrite first, second, third, fourth.
    unfold sign_closed; fold m; reflexivity.
  - intros; unfold delta; rewrite Nat.eqb_refl; ring.
  - intros a a_inside; rewrite (sum_ext n _ (fun b => delta a b * (p b * p b))) by (intros; apply Rmult_assoc).
    apply (sum_delta n a (fun b => p b * p b)), a_inside.
Qed.

End OneAction.

Lemma scaled_up factor x y : 0 < factor -> y = factor * x -> (0 < x -> 0 < y) /\ (x < 0 -> y < 0) /\ (0 <= y -> 0 <= x).
Proof.
  intros positive ->; repeat split; intros sign.
  - apply Rmult_lt_0_compat; assumption.
  - replace (factor * x) with (- (factor * - x)) by ring; assert (0 < factor * - x) by (apply Rmult_lt_0_compat; lra); lra.
  - apply Rmult_le_reg_l with factor; [assumption|lra].
Qed.

Theorem proved : Statements.extension.adam_level.statement.
Proof.
  intros n A D factor two some ahead larger few.
  destruct (one_of_count n A some few) as (r & inside & chosen & alone).
  pose proof (count_wrong n A r inside chosen alone) as others.
  change (total_on n (fun a => negb (A a)) (fun _ => 1)) with
    (Statements.extension.adam_level.count n (Statements.extension.adam_level.dominated n D A) (fun a => negb (A a)))
    in others; rewrite others.
  set (m := INR n - 1) in *.
  assert (1 <= m) as least by (unfold m; pose proof (le_INR 2 n two) as large; simpl in large; lra).
  assert (D < D * factor) as more by nra.
  assert (0 < D * factor) as ahead' by lra.
  pose proof (rare_inside D ahead) as small; pose proof (exp_pos (- (D * factor))) as low.
  assert (exp (- (D * factor)) < exp (- D)) as order by (apply exp_increasing; lra).
  rewrite !(settled_is n A r two inside chosen alone), !(sign_is n A r two inside chosen alone); fold m.
  destruct (settled_signed m D least ahead) as (f & f_pos & f_is).
  destruct (settled_signed m (D * factor) least ahead') as (f' & f'_pos & f'_is).
  destruct (sign_signed m D least ahead) as (g & g_pos & g_is).
  destruct (sign_signed m (D * factor) least ahead') as (g' & g'_pos & g'_is).
  destruct (scaled_up _ _ _ f_pos f_is) as (up & down & back).
  destruct (scaled_up _ _ _ f'_pos f'_is) as (up' & _ & _).
  destruct (scaled_up _ _ _ g_pos g_is) as (rise & fall & return_).
  destruct (scaled_up _ _ _ g'_pos g'_is) as (rise' & _ & _).
  repeat split;
    match goal with |- 0 < (if ?test then _ else _) => destruct test eqn:decided end; try lra;
    rewrite ?negb_true_iff in decided; apply less_false in decided.
  - apply Ropp_0_gt_lt_contravar, down, (settled_falls m least D (exp (- D)) small decided).
  - destruct (rare_where_far m D least ahead decided) as [far rare_].
    apply up, (settled_grows m least D (exp (- D)) small far rare_).
  - apply up', (settled_turns_once m least D (D * factor) (exp (- D)) (exp (- (D * factor))) ahead more small low order).
    apply back, decided.
  - apply Ropp_0_gt_lt_contravar, fall, (sign_falls m least D (exp (- D)) (exp (- (D * factor))) ahead small low order decided).
  - destruct (rare_where_far m D least ahead decided) as [far rare_].
    apply rise, (sign_grows m least D (exp (- D)) (exp (- (D * factor))) small low order far rare_).
  - apply rise', (sign_turns_once m least D (D * factor) (exp (- D)) (exp (- (D * factor))) ahead more small low order).
    apply return_, decided.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.adam_level.witness.
Proof. exists 2%nat, (fun a => Nat.eqb a 0), 1, 2; witnessed. Qed.

Lemma scaling_defined n z : (2 <= n)%nat -> Statements.extension.adam_level.settled_effect_defined n z.
Proof.
  intros two a a_inside b b_inside.
  pose proof (root_pos n z two a a_inside); pose proof (root_pos n z two b b_inside).
  repeat split; [| |apply Rgt_not_eq, Rmult_lt_0_compat; assumption];
    (apply Rmult_le_pos; [apply Rlt_le, softmax_pos; lia|apply Rlt_le, (others_pos n z two); assumption]).
Qed.

Theorem defined : Statements.extension.adam_level.defined.
Proof.
  intros n A D factor two some ahead larger few.
  destruct (one_of_count n A some few) as (r & inside & chosen & alone).
  pose proof (count_wrong n A r inside chosen alone) as others.
  split; [|split; [|split; [|split]]]; intros; try (apply scaling_defined, two).
  apply Rlt_le_trans with (INR n - 1); [apply m_positive, two|right; symmetry; exact others].
Qed.
