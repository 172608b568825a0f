(** One likely action and others that are equally likely: second orders of entropy under noise in closed form, their
    limits, and the one gap at which each turns from minus to plus. *)

From Coq Require Import Reals Lra Lia Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Monotone Curvature OneRight Noise NoiseShapes.
Open Scope R_scope.

Definition isotropic_closed (p q gap others : R) : R :=
  others * q * (p * (p - q) * gap - (1 + p - q) / 2).
Definition score_closed (p q gap others : R) : R :=
  others * q * q / 2
  * (p * (p - q) * gap * ((2 * p - 1) * others + 2 * p + 1) - (p * p * (others + 2) + 1 - q * (1 + p))).
Definition adam_closed (p q gap others : R) : R :=
  p * (others * q) * gap * (sqrt (p / (others * q)) - sqrt (q / (1 - q)))
    * (others * q * sqrt (p / (others * q)) + p * sqrt (q / (1 - q)))
  - (1 - p * (others * q) * ((sqrt (p / (others * q)) - sqrt (q / (1 - q)))
                             * (sqrt (p / (others * q)) - sqrt (q / (1 - q))))) / 2.
Definition likely (gap others : R) : R := 1 / (1 + others * exp (- gap)).
Definition rare (gap others : R) : R := exp (- gap) / (1 + others * exp (- gap)).

Lemma tends_to_limit (u : nat -> R) (l : R) : is_lim_seq u l -> tends_to u l.
Proof.
  intros limit; apply is_lim_seq_spec in limit; intros e positive.
  destruct (limit (mkposreal e positive)) as [N close]; exists N; exact close.
Qed.

(** * The two probabilities *)

Section Probabilities.

Variables (D m : R).
Hypothesis m_pos : 0 < m.

Let p := likely D m.
Let q := rare D m.

Lemma below_pos : 0 < 1 + m * exp (- D).
Proof. pose proof (exp_pos (- D)); assert (0 < m * exp (- D)) by (apply Rmult_lt_0_compat; assumption); lra. Qed.

Lemma likely_pos : 0 < p.
Proof. apply Rdiv_lt_0_compat; [lra|apply below_pos]. Qed.

Lemma rare_pos : 0 < q.
Proof. apply Rdiv_lt_0_compat; [apply exp_pos|apply below_pos]. Qed.

Lemma likely_is : p = 1 - m * q.
Proof. unfold p, q, likely, rare; pose proof below_pos; field; lra. Qed.

Lemma rare_below : 0 <= D -> q <= exp (- D).
Proof.
  intros ahead; unfold q, rare; pose proof below_pos; pose proof (exp_pos (- D)).
  apply Rmult_le_reg_r with (1 + m * exp (- D)); [assumption|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (0 <= exp (- D) * (m * exp (- D))) by (repeat apply Rmult_le_pos; lra); lra.
Qed.

Lemma rare_below_likely : 0 < D -> q < p.
Proof.
  intros ahead; unfold p, q, likely, rare; pose proof below_pos.
  apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; assumption|].
  rewrite <- exp_0; apply exp_increasing; lra.
Qed.

End Probabilities.

(** * The policy *)

Section OneLikely.

Variables (n : nat) (A : mask) (D : R).
Hypothesis two : (2 <= n)%nat.
Variable r : nat.
Hypothesis inside : (r < n)%nat.
Hypothesis chosen : A r = true.
Hypothesis alone : forall a, (a < n)%nat -> a <> r -> A a = false.

Let some : (0 < n)%nat := Nat.lt_le_trans 0 2 n Nat.lt_0_2 two.
Let z : vector := fun a => if A a then D else 0.
Let p := softmax n z.
Let wrong : mask := fun a => negb (A a).
Let m := INR n - 1.
Let P := likely D m.
Let Q := rare D m.

Definition two_valued (x y : R) : vector := fun a => if A a then x else y.

Lemma m_positive : 0 < m.
Proof. unfold m; pose proof (le_INR 2 n two) as large; simpl in large; lra. Qed.

Lemma sum_wrong y f : (forall a, (a < n)%nat -> wrong a = true -> f a = y) -> total_on n wrong f = m * y.
Proof.
  intros level.
  assert (total_on n wrong f = total_on n wrong (fun _ => y)) as ->.
  { unfold total_on; apply sum_ext; intros a a_inside; unfold only.
    destruct (wrong a) eqn:is_wrong; [apply level; assumption|reflexivity]. }
  pose proof (sum_apart n A r inside chosen alone (fun _ => y)) as whole.
  rewrite sum_const in whole; fold wrong in whole; unfold m; lra.
Qed.

Lemma sum_two x y f :
  (forall a, (a < n)%nat -> f a = two_valued x y a) -> sum n f = x + m * y.
Proof.
  intros level; rewrite (sum_apart n A r inside chosen alone f).
  rewrite (level r inside); unfold two_valued at 1; rewrite chosen; f_equal.
  apply sum_wrong; intros a a_inside is_wrong; rewrite level by assumption; unfold two_valued.
  unfold wrong in is_wrong; destruct (A a); [discriminate|reflexivity].
Qed.

Lemma policy_is a : p a = two_valued P Q a.
Proof.
  unfold p, softmax.
  rewrite (sum_two (exp D) 1).
  2: { intros b _; unfold z, two_valued; destruct (A b); [reflexivity|apply exp_0]. }
  pose proof (below_pos D m m_positive) as below; pose proof (exp_pos D); pose proof m_positive.
  unfold z, two_valued, P, Q, likely, rare; rewrite exp_Ropp in *.
  destruct (A a); [|rewrite exp_0]; field; split; try lra; nra.
Qed.

Lemma P_is : P = 1 - m * Q.
Proof. apply likely_is, m_positive. Qed.

Lemma mean_two x y f :
  (forall a, (a < n)%nat -> f a = two_valued x y a) -> mean n p f = P * x + m * (Q * y).
Proof.
  intros level; unfold mean; apply sum_two; intros a a_inside.
  rewrite policy_is, level by assumption; unfold two_valued; destruct (A a); reflexivity.
Qed.

Lemma covariance_two x y x' y' f g :
  (forall a, (a < n)%nat -> f a = two_valued x y a) ->
  (forall a, (a < n)%nat -> g a = two_valued x' y' a) ->
  covariance n p f g = P * (m * Q) * ((x - y) * (x' - y')).
Proof.
  intros f_is g_is; unfold covariance.
  rewrite (mean_two ((x - (P * x + m * (Q * y))) * (x' - (P * x' + m * (Q * y'))))
                    ((y - (P * x + m * (Q * y))) * (y' - (P * x' + m * (Q * y'))))).
  - rewrite P_is; ring.
  - intros a a_inside; unfold centered; rewrite (mean_two x y f f_is), (mean_two x' y' g g_is), f_is, g_is by assumption.
    unfold two_valued; destruct (A a); reflexivity.
Qed.

Ltac two :=
  let a := fresh in let a_inside := fresh in
  intros a a_inside; cbv beta; rewrite ?policy_is; try change (z a) with (two_valued D 0 a);
  unfold two_valued; destruct (A a); ring.

Theorem isotropic_is : isotropic_effect n z = isotropic_closed P Q D m.
Proof.
  unfold isotropic_effect; fold p.
  rewrite (covariance_two D 0 P Q) by two; rewrite (sum_two (P * (1 - P)) (Q * (1 - Q))) by two.
  unfold isotropic_closed; rewrite P_is; field.
Qed.

Lemma displaced : sum n (fun a => p a * (1 - p a)) = m * Q * (1 + P - Q).
Proof. rewrite (sum_two (P * (1 - P)) (Q * (1 - Q))) by two; rewrite P_is; ring. Qed.

Lemma total_wrong : total_on n wrong p = m * Q.
Proof.
  apply sum_wrong; intros a _ is_wrong; rewrite policy_is; unfold two_valued.
  unfold wrong in is_wrong; destruct (A a); [discriminate|reflexivity].
Qed.

Lemma count_wrong : total_on n wrong (fun _ => 1) = m.
Proof. rewrite (sum_wrong 1) by reflexivity; ring. Qed.

Theorem score_is : score_moments n z = score_closed P Q D m.
Proof.
  unfold score_moments; fold p.
  rewrite (covariance_two D 0 P Q) by two; rewrite (covariance_two D 0 (P * P) (Q * Q)) by two.
  rewrite (sum_two (P * P) (Q * Q)) by two; rewrite (sum_two (P * P * P) (Q * Q * Q)) by two.
  unfold score_closed; rewrite P_is; field.
Qed.

Let w1 := sqrt (P / (m * Q)).
Let w2 := sqrt (Q / (1 - Q)).

Lemma odds_are a : (a < n)%nat -> sqrt (p a / others n z a) = two_valued w1 w2 a.
Proof.
  intros a_inside; rewrite (others_are n z two a a_inside); fold p; rewrite policy_is; unfold two_valued, w1, w2.
  destruct (A a); [|reflexivity].
  do 2 f_equal; pose proof P_is; lra.
Qed.

Theorem adam_is : adam_moments n z = adam_closed P Q D m.
Proof.
  unfold adam_moments; fold p.
  rewrite (covariance_two D 0 (w1 * w1) (w2 * w2)).
  2: two.
  2: { intros a a_inside; rewrite odds_are by assumption; unfold two_valued; destruct (A a); reflexivity. }
  rewrite (covariance_two D 0 w1 w2) by (two || (intros; apply odds_are; assumption)).
  rewrite (covariance_two w1 w2 w1 w2) by (intros; apply odds_are; assumption).
  rewrite (mean_two w1 w2) by (intros; apply odds_are; assumption).
  unfold adam_closed; fold w1 w2.
  assert (forall x, P * (m * Q) * ((D - 0) * (w1 * w1 - w2 * w2)) - x = P * (m * Q) * D * (w1 - w2) * ((P + m * Q) * (w1 + w2)) - x) as ->.
  { intros x; rewrite P_is; ring. }
  field.
Qed.

End OneLikely.

(** * Limits as the gap grows *)

Section GrowingGap.

Variable m : R.
Hypothesis m_pos : 0 < m.

Let D (k : nat) : R := INR (S k).
Let q (k : nat) : R := rare (D k) m.

Lemma gap_pos k : 0 < D k.
Proof. apply lt_0_INR; lia. Qed.

Lemma inverse_vanishes : is_lim_seq (fun k => / D k) 0.
Proof.
  apply (is_lim_seq_incr_1 (fun k => / INR k)).
  replace (Finite 0) with (Rbar_inv p_infty) by reflexivity.
  apply is_lim_seq_inv; [apply is_lim_seq_INR|discriminate].
Qed.

Lemma rare_vanishes : is_lim_seq q 0.
Proof.
  apply (is_lim_seq_le_le (fun _ => 0) q (fun k => / D k)); [|apply is_lim_seq_const|apply inverse_vanishes].
  intros k; split; [apply Rlt_le, rare_pos, m_pos|].
  apply Rle_trans with (exp (- D k)); [apply rare_below; [exact m_pos|apply Rlt_le, gap_pos]|].
  rewrite exp_Ropp; apply Rinv_le_contravar; [apply gap_pos|].
  pose proof (exp_ineq1 (D k)) as steep; pose proof (gap_pos k); specialize (steep ltac:(lra)); lra.
Qed.

Lemma likely_fills : is_lim_seq (fun k => likely (D k) m) 1.
Proof.
  apply (is_lim_seq_ext (fun k => 1 - m * q k)).
  - intros k; symmetry; apply likely_is, m_pos.
  - replace (Finite 1) with (Finite (1 - m * 0)) by (f_equal; ring).
    apply is_lim_seq_minus'; [apply is_lim_seq_const|].
    apply is_lim_seq_mult'; [apply is_lim_seq_const|apply rare_vanishes].
Qed.

Ltac limit :=
  repeat first [ apply is_lim_seq_const | apply inverse_vanishes | apply rare_vanishes | apply likely_fills
               | apply is_lim_seq_minus' | apply is_lim_seq_plus' | apply is_lim_seq_mult' ].

Theorem isotropic_limit :
  is_lim_seq (fun k => isotropic_closed (likely (D k) m) (q k) (D k) m / (m * (m * q k * D k))) (1 / m).
Proof.
  apply (is_lim_seq_ext (fun k =>
    (likely (D k) m * (likely (D k) m - q k) - (1 + likely (D k) m - q k) * (/ 2 * / D k)) * / m)).
  - intros k; pose proof (gap_pos k); pose proof (rare_pos (D k) m m_pos) as positive; fold (q k) in positive.
    unfold isotropic_closed; field; repeat split; lra.
  - replace (Finite (1 / m)) with (Finite ((1 * (1 - 0) - (1 + 1 - 0) * (/ 2 * 0)) * / m)) by (f_equal; field; lra).
    limit.
Qed.

Theorem score_limit :
  is_lim_seq (fun k => score_closed (likely (D k) m) (q k) (D k) m
                       / (m * q k * (1 + likely (D k) m - q k) * (m * q k * D k)))
    ((m + 3) / 4 * (1 / m)).
Proof.
  apply (is_lim_seq_ext (fun k =>
    (likely (D k) m * (likely (D k) m - q k) * ((2 * likely (D k) m - 1) * m + 2 * likely (D k) m + 1)
     - (likely (D k) m * likely (D k) m * (m + 2) + 1 - q k * (1 + likely (D k) m)) * / D k)
    / (2 * m * (1 + likely (D k) m - q k)))).
  - intros k; pose proof (gap_pos k) as gap; pose proof (rare_pos (D k) m m_pos) as positive.
    pose proof (rare_below_likely (D k) m m_pos gap) as order; fold (q k) in positive, order.
    unfold score_closed; field; repeat split; lra.
  - replace (Finite ((m + 3) / 4 * (1 / m)))
      with (Finite ((1 * (1 - 0) * ((2 * 1 - 1) * m + 2 * 1 + 1) - (1 * 1 * (m + 2) + 1 - 0 * (1 + 1)) * 0)
                    / (2 * m * (1 + 1 - 0)))) by (f_equal; field; lra).
    apply is_lim_seq_div'; [limit|limit|].
    apply Rgt_not_eq; lra.
Qed.

End GrowingGap.

(** * One gap *)

Section OneGap.

Variables (m D D' : R).
Hypothesis m_least : 1 <= m.
Hypothesis ahead : 0 < D.
Hypothesis more : D < D'.

Let E := exp (- D).
Let E' := exp (- D').

Lemma exponentials : 0 < E' /\ E' < E /\ E < 1.
Proof.
  repeat split; [apply exp_pos|apply exp_increasing; lra|].
  unfold E; rewrite <- exp_0; apply exp_increasing; lra.
Qed.

Lemma isotropic_sign gap :
  let e := exp (- gap) in
  isotropic_closed (likely gap m) (rare gap m) gap m
  = m * e * / (1 + m * e) ^ 3 * / 2 * (2 * (1 - e) * gap - (1 + m * e) * (2 + (m - 1) * e)).
Proof.
  intros e; pose proof (below_pos gap m ltac:(lra)) as below; fold e in below.
  unfold isotropic_closed, likely, rare; fold e; field; lra.
Qed.

Lemma score_sign gap :
  let e := exp (- gap) in
  score_closed (likely gap m) (rare gap m) gap m
  = m * (e * e) * / (1 + m * e) ^ 5 * / 2
    * ((1 - e) * gap * (m + 3 - m * (m - 1) * e)
       - (1 + m * e) * (m + 3 + 2 * (m - 1) * e + m * (m - 1) * (e * e))).
Proof.
  intros e; pose proof (below_pos gap m ltac:(lra)) as below; fold e in below.
  unfold score_closed, likely, rare; fold e; field; lra.
Qed.

Lemma sign_of_product f g : 0 < f -> 0 <= f * g -> 0 <= g.
Proof. intros positive nonneg; apply Rmult_le_reg_l with f; [assumption|lra]. Qed.

Lemma factor_pos gap x k : 0 < x -> 0 < m * x * / (1 + m * exp (- gap)) ^ k * / 2.
Proof.
  intros positive; pose proof (below_pos gap m ltac:(lra)).
  repeat apply Rmult_lt_0_compat; try lra; apply Rinv_0_lt_compat, pow_lt; assumption.
Qed.

Theorem isotropic_turns_once :
  0 <= isotropic_closed (likely D m) (rare D m) D m ->
  0 < isotropic_closed (likely D' m) (rare D' m) D' m.
Proof.
  destruct exponentials as (low & order & high).
  rewrite !isotropic_sign; fold E E'; intros rises.
  apply sign_of_product in rises; [|apply factor_pos; lra].
  apply Rmult_lt_0_compat; [apply factor_pos; assumption|].
  assert ((1 - E) * D < (1 - E') * D').
  { apply Rle_lt_trans with ((1 - E') * D); [apply Rmult_le_compat_r; lra|apply Rmult_lt_compat_l; lra]. }
  assert (m * E' <= m * E) by (apply Rmult_le_compat_l; lra).
  assert ((m - 1) * E' <= (m - 1) * E) by (apply Rmult_le_compat_l; lra).
  assert (0 <= m * E') by (apply Rmult_le_pos; lra).
  assert (0 <= (m - 1) * E') by (apply Rmult_le_pos; lra).
  assert ((1 + m * E') * (2 + (m - 1) * E') <= (1 + m * E) * (2 + (m - 1) * E)) by (apply Rmult_le_compat; lra).
  lra.
Qed.

Theorem score_turns_once :
  0 <= score_closed (likely D m) (rare D m) D m ->
  0 < score_closed (likely D' m) (rare D' m) D' m.
Proof.
  destruct exponentials as (low & order & high).
  rewrite !score_sign; fold E E'; intros rises.
  apply sign_of_product in rises; [|apply factor_pos, Rmult_lt_0_compat; lra].
  apply Rmult_lt_0_compat; [apply factor_pos, Rmult_lt_0_compat; assumption|].
  assert (0 <= m * (m - 1)) as square by (apply Rmult_le_pos; lra).
  assert (m * E' <= m * E) by (apply Rmult_le_compat_l; lra).
  assert ((m - 1) * E' <= (m - 1) * E) by (apply Rmult_le_compat_l; lra).
  assert (m * (m - 1) * E' <= m * (m - 1) * E) by (apply Rmult_le_compat_l; lra).
  assert (E' * E' <= E * E) by (apply Rmult_le_compat; lra).
  assert (m * (m - 1) * (E' * E') <= m * (m - 1) * (E * E)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= m * E') by (apply Rmult_le_pos; lra).
  assert (0 <= (m - 1) * E') by (apply Rmult_le_pos; lra).
  assert (0 <= m * (m - 1) * (E' * E')) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
  set (N := (1 + m * E) * (m + 3 + 2 * (m - 1) * E + m * (m - 1) * (E * E))) in *.
  set (N' := (1 + m * E') * (m + 3 + 2 * (m - 1) * E' + m * (m - 1) * (E' * E'))).
  assert (N' <= N) by (apply Rmult_le_compat; lra).
  assert (0 < N') by (apply Rmult_lt_0_compat; lra).
  assert (0 < (1 - E) * D) by (apply Rmult_lt_0_compat; lra).
  assert ((1 - E) * D < (1 - E') * D').
  { apply Rle_lt_trans with ((1 - E') * D); [apply Rmult_le_compat_r; lra|apply Rmult_lt_compat_l; lra]. }
  assert (0 < m + 3 - m * (m - 1) * E) as third.
  { destruct (Rlt_or_le 0 (m + 3 - m * (m - 1) * E)) as [|negative]; [assumption|exfalso].
    assert (0 <= (1 - E) * D * - (m + 3 - m * (m - 1) * E)) by (apply Rmult_le_pos; lra); lra. }
  assert ((1 - E) * D * (m + 3 - m * (m - 1) * E) < (1 - E') * D' * (m + 3 - m * (m - 1) * E')).
  { apply Rle_lt_trans with ((1 - E) * D * (m + 3 - m * (m - 1) * E')); [apply Rmult_le_compat_l; lra|].
    apply Rmult_lt_compat_r; lra. }
  lra.
Qed.

End OneGap.
