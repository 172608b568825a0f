(** The forms in which statements are generated, beside those of this library: a step without a temperature is
    the one at temperature 1. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Masks Groups Learning.
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
