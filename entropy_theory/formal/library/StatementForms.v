(** The forms in which statements are generated, beside those of this library: a step without a temperature is
    the one at temperature 1. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Masks Groups Conditional Learning.
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
  run (fun j z => after_aepo_step n z A (temperature j) (kappa j) eta) start
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
