(** Policies given by weights, for counterexamples: the logits are logarithms of positive numbers. *)

From Coq Require Import Reals Lra Lia Arith.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks.
Open Scope R_scope.

(** The one action k. *)
Definition single (k : nat) : mask := fun a => Nat.eqb a k.

Lemma single_nonempty n k : (k < n)%nat -> nonempty n (single k).
Proof. intros inside; exists k; split; [assumption|apply Nat.eqb_refl]. Qed.

Lemma total_on_single n k f : (k < n)%nat -> total_on n (single k) f = f k.
Proof.
  unfold total_on, only, single; induction n as [|m IH]; simpl; intros inside; [lia|].
  destruct (Nat.eq_dec k m) as [->|other].
  - rewrite Nat.eqb_refl, (sum_ext m _ (fun _ => 0)), sum_zero; [ring|].
    intros a before; destruct (Nat.eqb_spec a m); [lia|reflexivity].
  - rewrite IH by lia; destruct (Nat.eqb_spec m k); [lia|ring].
Qed.

(** With one correct answer temperature only scales the rate. *)
Lemma rate_single n z k T :
  (k < n)%nat -> rate n z (single k) T = - (softmax n (tempered T z) k * excess n z k).
Proof. intros inside; unfold rate; rewrite total_on_single by assumption; reflexivity. Qed.

Section Weights.

Variables (n : nat) (weights : vector).
Hypothesis positive : forall a, (a < n)%nat -> 0 < weights a.

Lemma softmax_of_weights a :
  (a < n)%nat -> softmax n (fun b => ln (weights b)) a = weights a / sum n weights.
Proof.
  intros inside; unfold softmax; rewrite exp_ln by (apply positive, inside); f_equal.
  apply sum_ext; intros b b_inside; apply exp_ln, positive, b_inside.
Qed.

(** Other weights are those of the policy at another temperature if their logarithms are in proportion. *)
Lemma softmax_tempered_weights T powers a :
  (forall b, (b < n)%nat -> 0 < powers b) ->
  (forall b, (b < n)%nat -> ln (weights b) = T * ln (powers b)) -> 0 < T ->
  (a < n)%nat ->
  softmax n (tempered T (fun b => ln (weights b))) a = powers a / sum n powers.
Proof.
  intros powers_pos proportion T_pos inside.
  rewrite (softmax_ext n _ (fun b => ln (powers b)))
    by (assumption || (intros; unfold tempered; rewrite proportion by assumption; field; lra)).
  unfold softmax; rewrite exp_ln by (apply powers_pos, inside); f_equal.
  apply sum_ext; intros b b_inside; apply exp_ln, powers_pos, b_inside.
Qed.

End Weights.
