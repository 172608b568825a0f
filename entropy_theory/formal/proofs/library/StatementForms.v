(** The forms in which statements are generated, beside those of this library: a step without a temperature is
    the one at temperature 1. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Conditional TwoAnswers
  Learning Ablations.
Open Scope R_scope.

Lemma tempered_one z : tempered 1 z = z.
Proof. apply functional_extensionality; intros a; apply tempered_1. Qed.

(** 1_A pi - p pi *)
Definition untempered_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a =>
    (if correct a then softmax n logits a else 0)
    - total_on n correct (softmax n logits) * softmax n logits a.

Lemma untempered_step_eq n z A : untempered_step n z A = unit_step n z A 1.
Proof. unfold unit_step; rewrite tempered_one; reflexivity. Qed.

(** Logits after a step of AEPO. *)
Definition after_aepo_step (n : nat) (z : vector) (A : mask) (T kappa eta : R) : vector :=
  fun a => z a + eta * (kappa * untempered_step n z A a + unit_step n z A T a).

Lemma after_aepo_step_eq n z A T kappa eta :
  after_aepo_step n z A T kappa eta = moved eta z (combined_step n z A T kappa 1).
Proof.
  apply functional_extensionality; intros a; unfold after_aepo_step, moved, combined_step.
  rewrite untempered_step_eq; ring.
Qed.

Lemma aepo_run_eq n A eta temperature kappa start :
  run (fun j z => after_aepo_step n z A (temperature j) (kappa j) (eta j)) start
  = aepo_run n A eta 1 temperature kappa start.
Proof.
  unfold aepo_run; f_equal; apply functional_extensionality; intros j.
  apply functional_extensionality; intros z; apply after_aepo_step_eq.
Qed.

(** The conditional policy with its logits relative to the largest. *)
Definition shifted_conditional (n : nat) (z : vector) (A : mask) (T : R) : vector :=
  fun a =>
    (if A a then exp ((z a - largest_on n A z) / T) else 0)
    / sum n (fun b => if A b then exp ((z b - largest_on n A z) / T) else 0).
Definition shifted_conditional_1 (n : nat) (z : vector) (A : mask) : vector :=
  fun a =>
    (if A a then exp (z a - largest_on n A z) else 0)
    / sum n (fun b => if A b then exp (z b - largest_on n A z) else 0).

Lemma shifted_conditional_eq n z A T :
  nonempty n A -> 0 < T -> shifted_conditional n z A T = conditional n (tempered T z) A.
Proof.
  intros some T_pos; apply functional_extensionality; intros a; unfold shifted_conditional, conditional.
  set (top := largest_on n A z).
  assert (forall b, exp ((z b - top) / T) = exp (tempered T z b) * / exp (top / T)) as factor.
  { intros b; unfold tempered; replace ((z b - top) / T) with (z b / T + - (top / T)) by (field; lra).
    rewrite exp_plus, exp_Ropp; reflexivity. }
  change (sum n (fun b => if A b then exp ((z b - top) / T) else 0))
    with (total_on n A (fun b => exp ((z b - top) / T))).
  rewrite (total_on_ext n A (fun b => exp ((z b - top) / T))
             (fun b => exp (tempered T z b) * / exp (top / T))) by (intros; apply factor).
  rewrite total_on_scal_r; pose proof (weight_pos n A some (tempered T z)); pose proof (exp_pos (top / T)).
  unfold only; destruct (A a); [rewrite factor; field|field]; lra.
Qed.

Lemma shifted_conditional_1_eq n z A :
  nonempty n A -> shifted_conditional_1 n z A = conditional n z A.
Proof.
  intros some; rewrite <- (tempered_one z) at 2; rewrite <- shifted_conditional_eq by (assumption || lra).
  apply functional_extensionality; intros a; unfold shifted_conditional, shifted_conditional_1.
  assert (forall x, x / 1 = x) as over_1 by (intros; field).
  rewrite over_1; f_equal; apply sum_ext; intros; rewrite over_1; reflexivity.
Qed.

(** A sum of products with the conditional policy is one over the set. *)
Lemma sum_conditional n z A f :
  sum n (fun a => conditional n z A a * f a) = total_on n A (fun a => conditional n z A a * f a).
Proof. exact (mean_conditional n A z f). Qed.

Lemma combined_step_form n z A T kappa alpha :
  (fun a => kappa * untempered_step n z A a + alpha * unit_step n z A T a) = combined_step n z A T kappa alpha.
Proof. apply functional_extensionality; intros a; rewrite untempered_step_eq; reflexivity. Qed.

(** An equivalence as two numbers that are not negative. *)
Lemma both_directions whole tempered (sufficient : Prop) :
  (0 < whole <-> 0 < tempered /\ sufficient) ->
  0 <= Rmax (- whole) (Rmin tempered whole) /\ 0 <= Rmax (- Rmin tempered whole) whole.
Proof.
  intros exactly; destruct (Rlt_dec 0 whole) as [rises|falls].
  - assert (0 < tempered) by (apply exactly; assumption); split.
    + apply Rle_trans with (2 := Rmax_r _ _); apply Rmin_glb; lra.
    + apply Rle_trans with (2 := Rmax_r _ _); lra.
  - split.
    + apply Rle_trans with (2 := Rmax_l _ _); lra.
    + apply Rle_trans with (2 := Rmax_l _ _).
      assert (Rmin tempered whole <= whole) by apply Rmin_r; lra.
Qed.

(** The entropy of the right answers, with logits relative to the largest. *)
Lemma conditional_entropy_form n z A :
  nonempty n A ->
  ln (sum n (fun a => if A a then exp (- (largest_on n A z - z a)) else 0))
  + mean n (shifted_conditional_1 n z A) (fun a => largest_on n A z - z a)
  = conditional_entropy n z A.
Proof.
  intros some; rewrite shifted_conditional_1_eq by assumption.
  set (top := largest_on n A z); set (S := total_on n A (fun b => exp (z b))).
  assert (0 < S) as S_pos by apply (weight_pos n A some z).
  assert (sum n (fun a => if A a then exp (- (top - z a)) else 0) = S * / exp top) as ->.
  { change (sum n (fun a => if A a then exp (- (top - z a)) else 0))
      with (total_on n A (fun a => exp (- (top - z a)))).
    unfold S; rewrite <- total_on_scal_r; apply total_on_ext; intros a inside chosen.
    replace (- (top - z a)) with (z a + - top) by ring; rewrite exp_plus, exp_Ropp; reflexivity. }
  rewrite ln_mult, ln_Rinv, ln_exp by (try apply Rinv_0_lt_compat; try apply exp_pos; assumption).
  rewrite mean_minus, mean_const by (apply conditional_sum, some).
  rewrite mean_conditional; unfold conditional_entropy.
  rewrite (total_on_ext n A (fun a => conditional n z A a * ln (conditional n z A a))
             (fun a => conditional n z A a * z a - conditional n z A a * ln S)).
  - rewrite total_on_minus, total_on_scal_r, conditional_total by assumption; ring.
  - intros a inside chosen; rewrite (conditional_in n A z a) by assumption; fold S.
    rewrite ln_div, ln_exp by (apply exp_pos || assumption); ring.
Qed.

(** The rate on the face of the right answers. *)
Lemma conditional_rate_form n z A T :
  nonempty n A -> 0 < T ->
  - total_on n A (fun a => shifted_conditional n z A T a
      * centered n (shifted_conditional_1 n z A)
          (fun b => shifted_conditional_1 n z A b * centered n (shifted_conditional_1 n z A) z b) a)
  = conditional_rate n z A T.
Proof.
  intros some T_pos.
  rewrite shifted_conditional_eq, shifted_conditional_1_eq by assumption; reflexivity.
Qed.

(** f_T(D) without a difference of two exponentials. *)
Lemma speed_form D T :
  0 < T ->
  2 * (- exp (- D / T) * (exp (- D * (T - 1) / T) - 1)) / ((1 + exp (- D / T)) * (1 + exp (- D)))
  = speed D T.
Proof.
  intros T_pos; unfold speed.
  assert (exp (- D / T) * exp (- D * (T - 1) / T) = exp (- D)) as product
    by (rewrite <- exp_plus; f_equal; field; lra).
  replace (- exp (- D / T) * (exp (- D * (T - 1) / T) - 1)) with (exp (- D / T) - exp (- D)) by lra.
  reflexivity.
Qed.

(** grad p = pi (1_A - p) *)
Definition plain_step (n : nat) (z : vector) (A : mask) : vector :=
  fun a =>
    softmax n z a
    * (if A a then total_on n (complement A) (softmax n z) else - total_on n A (softmax n z)).

Lemma plain_step_eq n z A : plain_step n z A = advantage_step n z A 1.
Proof. unfold advantage_step; rewrite tempered_one; reflexivity. Qed.

Lemma ablated_step_form n z A T kappa w :
  (fun a => kappa * plain_step n z A a + w * advantage_step n z A T a) = ablated_step n z A T kappa w.
Proof. rewrite plain_step_eq; reflexivity. Qed.

Lemma plain_ablated_step n z A eta weight :
  (fun a => z a + eta * weight * plain_step n z A a) = moved eta z (ablated_step n z A 1 weight 0).
Proof.
  apply functional_extensionality; intros a; unfold moved, ablated_step; rewrite plain_step_eq; ring.
Qed.
