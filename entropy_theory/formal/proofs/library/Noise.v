(** What a step of mean zero does to entropy, to second order: the quadratic form as one mean, noise of a given
    covariance, bounds for noise of every shape, and independent noise of the logits. *)

From Coq Require Import Reals Lra Lia Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Monotone Curvature EntropyChange SecondOrder OneRight.
Open Scope R_scope.

(** * Likeliest actions *)

Lemma likeliest_spec n z :
  (0 < n)%nat -> (likeliest n z < n)%nat /\ forall a, (a < n)%nat -> z a <= z (likeliest n z).
Proof.
  induction n as [|k IH]; intros some; [lia|]; simpl.
  destruct k as [|k'].
  - assert (forall x : bool, (if x then 0 else likeliest 0 z)%nat = 0%nat) as zero by (intros []; reflexivity).
    rewrite zero; split; [lia|]; intros a inside; replace a with 0%nat by lia; lra.
  - destruct (IH ltac:(lia)) as [below top]; unfold less.
    destruct (Rlt_dec (z (likeliest (S k') z)) (z (S k'))) as [higher|not_higher]; (split; [lia|]);
      intros a inside; destruct (Nat.eq_dec a (S k')) as [->|other]; try lra;
      specialize (top a ltac:(lia)); lra.
Qed.

(** * The quadratic form as one mean *)

Lemma quadratic_form_depth n z d :
  (0 < n)%nat ->
  quadratic_form n z d
  = - mean n (softmax n z) (fun a =>
        (1 + centered n (softmax n z) z a)
        * (centered n (softmax n z) d a * centered n (softmax n z) d a)).
Proof.
  intros some; unfold quadratic_form; set (p := softmax n z).
  rewrite covariance_centered_l by apply softmax_sum, some.
  rewrite <- mean_opp, <- mean_opp, <- mean_minus; apply mean_ext; intros; ring.
Qed.

Lemma quadratic_form_opp n z d : quadratic_form n z (fun a => - d a) = quadratic_form n z d.
Proof.
  unfold quadratic_form; set (p := softmax n z).
  assert (forall a, centered n p (fun b => - d b) a = - centered n p d a) as odd.
  { intros a; unfold centered; rewrite mean_opp; ring. }
  f_equal; [f_equal; apply mean_ext|apply covariance_ext]; intros; rewrite ?odd; ring.
Qed.

(** The step and its opposite together: the first order cancels. *)
Lemma both_signs n z d :
  (0 < n)%nat ->
  Rabs ((entropy_change n z d + entropy_change n z (fun a => - d a)) / 2 - quadratic_form n z d / 2)
  <= (2 + 7 * ln (INR n)) * (largest n d - smallest n d) ^ 3 / 24.
Proof.
  intros some; set (m := smallest n d); set (M := largest n d).
  pose proof (second_order_error n z d some m M) as up.
  pose proof (second_order_error n z (fun a => - d a) some (- M) (- m)) as down.
  specialize (up ltac:(intros a inside; split; [apply smallest_le|apply largest_ge]; assumption)).
  specialize (down ltac:(intros a inside; pose proof (smallest_le n d a inside);
                         pose proof (largest_ge n d a inside); unfold m, M; lra)).
  rewrite quadratic_form_opp in down.
  replace (covariance n (softmax n z) (log_softmax n z) (fun a => - d a))
    with (- covariance n (softmax n z) (log_softmax n z) d) in down.
  2: { rewrite <- (covariance_ext n _ (log_softmax n z) (fun a => -1 * d a) (log_softmax n z) (fun a => - d a))
         by (intros; ring).
       rewrite covariance_scal_r; ring. }
  replace (- m - - M) with (M - m) in down by ring.
  apply Rabs_le_between in up; apply Rabs_le_between in down; apply Rabs_le; lra.
Qed.

(** * Noise of a given covariance *)

Section Covariance.

Variables (n : nat) (z mu : vector) (noise : nat -> nat -> R).
Hypothesis some : (0 < n)%nat.
Hypothesis one : sum n mu = 1.
Hypothesis nonneg : forall k, (k < n)%nat -> 0 <= mu k.

Let p := softmax n z.
Let C (a b : nat) : R := sum n (fun k => mu k * (noise a k * noise b k)).
Let step (k : nat) : vector := fun a => noise a k.

Lemma square_of_centered a :
  (a < n)%nat ->
  mean n mu (fun k => centered n p (step k) a * centered n p (step k) a)
  = sum n (fun b => (if Nat.eqb a b then 1 else 0) * C a b) - 2 * sum n (fun b => C a b * p b)
    + mean n p (fun b => sum n (fun c => C b c * p c)).
Proof.
  intros inside.
  assert (sum n (fun b => (if Nat.eqb a b then 1 else 0) * C a b) = C a a) as own.
  { rewrite <- (sum_single n a (C a) inside); apply sum_ext; intros b _.
    rewrite Nat.eqb_sym; ring. }
  assert (forall b, sum n (fun c => C b c * p c) = mean n mu (fun k => noise b k * mean n p (step k))) as across.
  { intros b; unfold mean, C.
    rewrite (sum_ext n _ (fun c => sum n (fun k => mu k * noise b k * (p c * noise c k)))).
    2: { intros c _; rewrite <- sum_scal_r; apply sum_ext; intros; ring. }
    rewrite sum_swap; apply sum_ext; intros k _; unfold step.
    rewrite sum_scal; ring. }
  rewrite own, across.
  rewrite (mean_ext n p _ (fun b => mean n mu (fun k => noise b k * mean n p (step k))))
    by (intros; apply across).
  replace (mean n p (fun b => mean n mu (fun k => noise b k * mean n p (step k))))
    with (mean n mu (fun k => mean n p (step k) * mean n p (step k))).
  2: { unfold mean at 1 4; rewrite (sum_ext n (fun b => p b * _)
         (fun b => sum n (fun k => mu k * mean n p (step k) * (p b * noise b k)))).
       2: { intros b _; unfold mean at 1; rewrite <- sum_scal; apply sum_ext; intros; ring. }
       rewrite sum_swap; apply sum_ext; intros k _; rewrite sum_scal.
       unfold mean, step; ring. }
  replace (C a a) with (mean n mu (fun k => noise a k * noise a k)) by reflexivity.
  rewrite <- mean_scal, <- mean_minus, <- mean_plus; apply mean_ext; intros k _.
  unfold centered, step; ring.
Qed.

Lemma form_of_noise :
  mean n mu (fun k => quadratic_form n z (step k))
  = - mean n p (fun a =>
        (1 + centered n p z a)
        * (sum n (fun b => (if Nat.eqb a b then 1 else 0) * C a b) - 2 * sum n (fun b => C a b * p b)
           + mean n p (fun b => sum n (fun c => C b c * p c)))).
Proof.
  rewrite (mean_ext n mu _ (fun k => - mean n p (fun a =>
    (1 + centered n p z a) * (centered n p (step k) a * centered n p (step k) a))))
    by (intros; apply quadratic_form_depth, some).
  rewrite mean_opp; f_equal.
  rewrite (mean_ext n p _ (fun a => mean n mu (fun k =>
    (1 + centered n p z a) * (centered n p (step k) a * centered n p (step k) a)))).
  2: { intros a inside; rewrite mean_scal, square_of_centered by assumption; reflexivity. }
  unfold mean at 1 3.
  rewrite (sum_ext n _ (fun k => sum n (fun a =>
    mu k * p a * ((1 + centered n p z a) * (centered n p (step k) a * centered n p (step k) a))))).
  2: { intros k _; unfold mean; rewrite <- sum_scal; apply sum_ext; intros; ring. }
  rewrite sum_swap; apply sum_ext; intros a _; unfold mean; rewrite <- sum_scal; apply sum_ext; intros; ring.
Qed.

End Covariance.

(** * Bounds for noise of every shape *)

Section Shapes.

Variables (n : nat) (z d : vector).
Hypothesis two : (2 <= n)%nat.

Let some : (0 < n)%nat := Nat.lt_le_trans 0 2 n Nat.lt_0_2 two.
Let p := softmax n z.
Let t := likeliest n z.
Let rest : mask := fun a => negb (Nat.eqb t a).
Let u := centered n p d.

Lemma top_inside : (t < n)%nat.
Proof. apply likeliest_spec, some. Qed.

Lemma top_is a : (a < n)%nat -> z a <= z t.
Proof. apply likeliest_spec, some. Qed.

Lemma apart f : sum n f = f t + total_on n rest f.
Proof.
  apply (sum_apart n (Nat.eqb t) t top_inside); [apply Nat.eqb_refl|].
  intros a _ other; apply Nat.eqb_neq; congruence.
Qed.

Lemma largest_is_top : largest n z = z t.
Proof.
  apply largest_on_eq with t; [apply top_inside|reflexivity|reflexivity|intros; apply top_is; assumption].
Qed.

Lemma largest_policy_is_top : largest n p = p t.
Proof.
  apply largest_on_eq with t; [apply top_inside|reflexivity|reflexivity|].
  intros; apply softmax_le; [exact some|apply top_is; assumption].
Qed.

Lemma total_rest : total_on n rest p = 1 - p t.
Proof. pose proof (apart p) as whole; unfold p at 1 in whole; rewrite softmax_sum in whole by exact some; lra. Qed.

Lemma some_rest : exists b, (b < n)%nat /\ rest b = true.
Proof.
  destruct (Nat.eq_dec t 0) as [zero|other].
  - exists 1%nat; split; [lia|]; unfold rest; rewrite zero; reflexivity.
  - exists 0%nat; split; [lia|]; unfold rest.
    apply negb_true_iff, Nat.eqb_neq; exact other.
Qed.

Lemma top_below_one : p t < 1.
Proof.
  enough (0 < total_on n rest p) by (rewrite total_rest in *; lra).
  destruct some_rest as (b & b_inside & b_rest); unfold total_on.
  apply (sum_pos_term n _ b); [|assumption|].
  - intros a _; unfold only; pose proof (softmax_pos n z a some); destruct (rest a); unfold p; lra.
  - unfold only; rewrite b_rest; apply softmax_pos, some.
Qed.

(** Of the displacement of the policy, at most the share 1 - p is that of the likeliest action. *)
Lemma top_share : p t * (u t * u t) <= (1 - p t) * covariance n p d d.
Proof.
  assert (sum n p = 1) as one by apply softmax_sum, some.
  pose proof top_below_one as below.
  pose proof (mean_centered n p d one) as zero; fold u in zero; unfold mean in zero; rewrite apart in zero.
  change (covariance n p d d) with (sum n (fun a => p a * (u a * u a))); rewrite apart.
  set (S1 := total_on n rest (fun a => p a * u a)) in *.
  set (S2 := total_on n rest (fun a => p a * (u a * u a))).
  assert (0 <= total_on n rest (fun a =>
            p a * (((1 - p t) * u a + p t * u t) * ((1 - p t) * u a + p t * u t)))) as squares.
  { apply total_on_nonneg; intros a _ _; apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|apply Rle_0_sqr]. }
  replace (total_on n rest (fun a =>
            p a * (((1 - p t) * u a + p t * u t) * ((1 - p t) * u a + p t * u t))))
    with ((1 - p t) * (1 - p t) * S2 + 2 * (1 - p t) * (p t * u t) * S1
          + (p t * u t) * (p t * u t) * total_on n rest p) in squares.
  2: { unfold S1, S2, total_on; rewrite <- !sum_scal, <- !sum_plus; apply sum_ext; intros a _; unfold only.
       destruct (rest a); ring. }
  rewrite total_rest in squares.
  replace S1 with (- (p t * u t)) in squares by lra.
  assert (0 <= (1 - p t) * ((1 - p t) * S2 - p t * u t * (p t * u t))) as product by lra.
  assert (0 <= (1 - p t) * S2 - p t * u t * (p t * u t)); [|lra].
  apply Rmult_le_reg_l with (1 - p t); lra.
Qed.

Lemma form_as_mean : quadratic_form n z d = mean n p (fun a => (mean n p z - z a - 1) * (u a * u a)).
Proof.
  rewrite quadratic_form_depth by exact some; fold p u; rewrite <- mean_opp; apply mean_ext; intros.
  unfold centered at 1; ring.
Qed.

Lemma form_above :
  covariance n p d d
  * (mean n p z - largest_on n rest z - (1 - largest n p) * (largest n z - largest_on n rest z) - 1)
  <= quadratic_form n z d.
Proof.
  rewrite form_as_mean, largest_is_top, largest_policy_is_top.
  set (second := largest_on n rest z); set (average := mean n p z).
  assert (second <= z t) as behind.
  { destruct some_rest as (b & b_inside & b_rest).
    apply largest_on_le; [exists b; auto|intros; apply top_is; assumption]. }
  pose proof top_share as share; set (V := covariance n p d d) in *.
  assert (mean n p (fun a => (average - z a - 1) * (u a * u a))
          = (average - second - 1) * V + mean n p (fun a => (second - z a) * (u a * u a))) as ->.
  { unfold V; change (covariance n p d d) with (mean n p (fun a => u a * u a)).
    rewrite <- mean_scal, <- mean_plus; apply mean_ext; intros; ring. }
  assert (p t * ((second - z t) * (u t * u t)) <= mean n p (fun a => (second - z a) * (u a * u a))) as low.
  { unfold mean; rewrite apart.
    enough (0 <= total_on n rest (fun a => p a * ((second - z a) * (u a * u a)))) by lra.
    apply total_on_nonneg; intros a inside is_rest.
    pose proof (largest_on_ge n rest z a inside is_rest) as under; fold second in under.
    apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|apply Rmult_le_pos; [lra|apply Rle_0_sqr]]. }
  assert ((z t - second) * (p t * (u t * u t)) <= (z t - second) * ((1 - p t) * V)) by
    (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Lemma form_below :
  quadratic_form n z d <= covariance n p d d * (mean n p z - smallest n z - 1).
Proof.
  rewrite form_as_mean, Rmult_comm; change (covariance n p d d) with (mean n p (fun a => u a * u a)).
  rewrite <- mean_scal; apply mean_le; [intros; apply Rlt_le, softmax_pos, some|].
  intros a inside; pose proof (smallest_le n z a inside).
  apply Rmult_le_compat_r; [apply Rle_0_sqr|lra].
Qed.

End Shapes.

(** * Independent noise of the logits *)

Definition isotropic_effect (n : nat) (z : vector) : R :=
  covariance n (softmax n z) z (softmax n z) - sum n (fun a => softmax n z a * (1 - softmax n z a)) / 2.

Section Isotropic.

Variables (n : nat) (z : vector).
Hypothesis two : (2 <= n)%nat.

Let some : (0 < n)%nat := Nat.lt_le_trans 0 2 n Nat.lt_0_2 two.
Let p := softmax n z.
Let T (a b : nat) : R := p a * p b * ((z a - z b) * (p a - p b)).

Lemma p_pos a : 0 < p a.
Proof. apply softmax_pos, some. Qed.

Lemma pair_nonneg a b : 0 <= T a b.
Proof.
  unfold T; apply Rmult_le_pos; [apply Rmult_le_pos; apply Rlt_le, p_pos|].
  destruct (Rle_or_lt (z a) (z b)) as [below|above].
  - pose proof (softmax_le n z a b some below) as order; fold p in order; nra.
  - pose proof (softmax_le n z b a some (Rlt_le _ _ above)) as order; fold p in order; nra.
Qed.

(** p_b = p_a e^(z_b - z_a). *)
Lemma softmax_ratio a b : p b = p a * exp (z b - z a).
Proof.
  unfold p, softmax; unfold Rminus; rewrite exp_plus, exp_Ropp.
  pose proof (normalizer_pos n z some); pose proof (exp_pos (z a)); field; lra.
Qed.

Lemma two_below_one a b : (a < n)%nat -> (b < n)%nat -> a <> b -> p a + p b <= 1.
Proof.
  intros a_inside b_inside other.
  assert (sum n p = 1) as one by apply softmax_sum, some.
  rewrite <- one, <- (sum_single n a p a_inside), <- (sum_single n b p b_inside), <- sum_plus.
  apply sum_le; intros c _; pose proof (p_pos c).
  destruct (Nat.eqb_spec c a), (Nat.eqb_spec c b); subst; try lra; congruence.
Qed.

Lemma differ_as_pairs :
  sum n (fun a => p a * (1 - p a))
  = sum n (fun a => sum n (fun b => p a * p b * (if Nat.eqb b a then 0 else 1))).
Proof.
  apply sum_ext; intros a inside.
  assert (sum n p = 1) as one by apply softmax_sum, some.
  rewrite (sum_ext n _ (fun b => p a * (p b - p b * (if Nat.eqb b a then 1 else 0)))).
  2: { intros b _; destruct (Nat.eqb b a); ring. }
  rewrite sum_scal, sum_minus, sum_single, one by assumption; ring.
Qed.

(** Where the range of the logits is short enough, no pair raises entropy. *)
Theorem short_range_lowers :
  let D := largest n z - smallest n z in
  D * (1 - exp (- D)) <= 1 + exp (- D) -> isotropic_effect n z <= 0.
Proof.
  intros D short; unfold isotropic_effect; fold p.
  enough (2 * covariance n p z p <= sum n (fun a => p a * (1 - p a))) by lra.
  rewrite covariance_pairs by apply softmax_sum, some; rewrite differ_as_pairs.
  apply sum_le; intros a a_inside; apply sum_le; intros b b_inside.
  apply Rmult_le_compat_l; [apply Rmult_le_pos; apply Rlt_le, p_pos|].
  destruct (Nat.eqb_spec b a) as [->|other]; [right; ring|].
  assert (forall x y, (x < n)%nat -> (y < n)%nat -> x <> y -> z y <= z x -> (z x - z y) * (p x - p y) <= 1) as ordered.
  { intros x y x_inside y_inside differ below.
    pose proof (two_below_one x y x_inside y_inside differ) as both.
    pose proof (largest_ge n z x x_inside); pose proof (smallest_le n z y y_inside).
    set (gap := z x - z y); assert (0 <= gap <= D) as range by (unfold gap, D; lra).
    rewrite (softmax_ratio x y) in *; replace (z y - z x) with (- gap) in * by (unfold gap; ring).
    assert (exp (- D) <= exp (- gap)) as far by (apply exp_le; lra).
    assert (exp (- gap) <= 1) as small by (rewrite <- exp_0; apply exp_le; lra).
    assert (gap * (1 - exp (- gap)) <= D * (1 - exp (- D))) by (apply Rmult_le_compat; lra).
    pose proof (p_pos x); nra. }
  destruct (Rle_or_lt (z b) (z a)) as [below|above].
  - apply ordered; auto.
  - replace ((z a - z b) * (p a - p b)) with ((z b - z a) * (p b - p a)) by ring.
    apply ordered; auto; lra.
Qed.

Let t := likeliest n z.
Let rest : mask := fun a => negb (Nat.eqb t a).

Lemma pairs_with_top : 2 * total_on n rest (fun b => T t b) <= 2 * covariance n p z p.
Proof.
  rewrite covariance_pairs by apply softmax_sum, some.
  change (2 * total_on n rest (T t) <= sum n (fun a => sum n (T a))).
  assert (T t t = 0) as own by (unfold T; ring).
  pose proof (top_inside n z two) as t_inside; fold t in t_inside.
  pose proof (fun f => apart n z two f) as apart; fold t in apart; change (fun a => negb (Nat.eqb t a)) with rest in apart.
  rewrite (apart (fun a => sum n (T a))), (apart (T t)), own.
  assert (total_on n rest (T t) <= total_on n rest (fun a => sum n (T a))); [|lra].
  apply total_on_le; intros a _ _; replace (T t a) with (T a t) by (unfold T; ring).
  apply sum_ge_term; [intros; apply pair_nonneg|exact t_inside].
Qed.

(** Where one action is likely enough, each pair with it raises entropy by more than all others lower it. *)
Theorem peaked_raises :
  / 2 <= p t -> 1 <= (p t - (1 - p t)) * ln (p t / (1 - p t)) -> 0 <= isotropic_effect n z.
Proof.
  intros half enough; unfold isotropic_effect; fold p.
  pose proof pairs_with_top as pairs.
  pose proof (fun f => apart n z two f) as apart; fold t in apart; change (fun a => negb (Nat.eqb t a)) with rest in apart.
  pose proof (total_rest n z two) as others; fold t p in others; change (fun a => negb (Nat.eqb t a)) with rest in others.
  pose proof (top_below_one n z two) as below; fold t p in below.
  pose proof (top_inside n z two) as t_inside; fold t in t_inside.
  assert (sum n (fun a => p a * (1 - p a)) = total_on n rest (fun b => p b * (p t + (1 - p b)))) as differ.
  { rewrite apart.
    replace (p t * (1 - p t)) with (total_on n rest (fun b => p b * p t)).
    - unfold total_on; rewrite <- sum_plus; apply sum_ext; intros b _; unfold only; destruct (rest b); ring.
    - rewrite <- others; unfold total_on; rewrite <- sum_scal; apply sum_ext; intros b _; unfold only.
      destruct (rest b); ring. }
  rewrite differ.
  enough (total_on n rest (fun b => p b * (p t + (1 - p b))) <= 2 * total_on n rest (fun b => T t b)) by lra.
  unfold total_on at 2; rewrite <- sum_scal; apply sum_le; intros b b_inside; unfold only.
  destruct (rest b) eqn:is_rest; [|lra].
  assert (b <> t) as other.
  { unfold rest in is_rest; apply negb_true_iff, Nat.eqb_neq in is_rest; congruence. }
  pose proof (two_below_one b t b_inside t_inside other) as both.
  pose proof (p_pos b) as b_pos; set (g := p t - (1 - p t)) in *; set (L := ln (p t / (1 - p t))) in *.
  assert (z t - z b = ln (p t / p b)) as gap.
  { rewrite (softmax_ratio b t); replace (p b * exp (z t - z b) / p b) with (exp (z t - z b)) by (field; lra).
    rewrite ln_exp; reflexivity. }
  assert (L <= z t - z b) as far.
  { rewrite gap; unfold L; destruct (Req_dec (p b) (1 - p t)) as [->|less]; [lra|left; apply ln_increasing].
    - apply Rdiv_lt_0_compat; lra.
    - unfold Rdiv; apply Rmult_lt_compat_l; [lra|apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; lra|lra]]. }
  assert (0 <= L) as L_nonneg.
  { unfold L; rewrite <- ln_1; destruct (Req_dec (p t) (/ 2)) as [->|more].
    - right; f_equal; field.
    - left; apply ln_increasing; [lra|]; apply Rmult_lt_reg_r with (1 - p t); [lra|].
      unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra. }
  assert (0 < g) as g_pos by (destruct (Rle_or_lt g 0) as [flat|]; [exfalso; unfold g in *; nra|assumption]).
  set (s := p t - p b); assert (g <= s) as s_large by (unfold g, s; lra).
  unfold T; fold s.
  replace (2 * (p t * p b * ((z t - z b) * s))) with (p b * (2 * p t * s * (z t - z b))) by ring.
  apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (2 * p t * s * L).
  2: { apply Rmult_le_compat_l; [|lra]; apply Rmult_le_pos; lra. }
  apply Rmult_le_reg_l with g; [assumption|].
  replace (g * (2 * p t * s * L)) with (2 * p t * s * (g * L)) by ring.
  apply Rle_trans with (2 * p t * s * 1).
  - replace (p t + (1 - p b)) with (1 + s) by (unfold s; ring).
    replace (2 * p t) with (g + 1) by (unfold g; ring); lra.
  - apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact enough].
Qed.

End Isotropic.
