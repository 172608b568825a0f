(** Derivatives with respect to logits: along one of them, and along any direction. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

(** delta_k *)
Definition unit_vector (k : nat) : vector := fun a => if Nat.eqb a k then 1 else 0.

Lemma unit_vector_sym a k : unit_vector a k = unit_vector k a.
Proof. unfold unit_vector; rewrite Nat.eqb_sym; reflexivity. Qed.

Lemma sum_unit_vector n f k : (k < n)%nat -> sum n (fun a => f a * unit_vector k a) = f k.
Proof.
  unfold unit_vector; induction n as [|m IH]; simpl; intros inside; [lia|].
  destruct (Nat.eq_dec k m) as [->|other].
  - rewrite Nat.eqb_refl.
    rewrite (sum_ext m _ (fun _ => 0)), sum_zero; [ring|].
    intros a before; destruct (Nat.eqb_spec a m); [lia|ring].
  - rewrite IH by lia; destruct (Nat.eqb_spec m k); [lia|ring].
Qed.

Section Directions.

Variables (n : nat) (z d : vector).
Hypothesis some : (0 < n)%nat.

Lemma line_moves t a : is_derive (fun s => z a + s * d a) t (d a).
Proof. auto_derive; [exact I|ring]. Qed.

Lemma softmax_line_start a : (a < n)%nat -> softmax n (fun b => z b + 0 * d b) a = softmax n z a.
Proof. intros inside; apply softmax_ext; [intros; ring|assumption]. Qed.

Lemma mean_line_start f : mean n (softmax n (fun b => z b + 0 * d b)) f = mean n (softmax n z) f.
Proof. apply sum_ext; intros; rewrite softmax_line_start by assumption; reflexivity. Qed.

Lemma covariance_line_start f g :
  covariance n (softmax n (fun b => z b + 0 * d b)) f g = covariance n (softmax n z) f g.
Proof. unfold covariance, centered; rewrite !mean_line_start; reflexivity. Qed.

Lemma is_derive_log_softmax_line a :
  (a < n)%nat ->
  is_derive (fun t => log_softmax n (fun b => z b + t * d b) a) 0 (centered n (softmax n z) d a).
Proof.
  intros inside; evar_last.
  - apply (is_derive_log_softmax n (fun t b => z b + t * d b) d 0 some); [|assumption].
    intros; apply line_moves.
  - simpl; unfold centered; rewrite mean_line_start; reflexivity.
Qed.

(** <grad H, d> = - Cov(d, z) *)
Lemma is_derive_entropy_line :
  is_derive (fun t => entropy n (fun b => z b + t * d b)) 0 (- covariance n (softmax n z) d z).
Proof.
  evar_last.
  - apply (is_derive_entropy n (fun t b => z b + t * d b) d 0 some); intros; apply line_moves.
  - simpl; rewrite covariance_log_softmax by (assumption || apply softmax_sum, some).
    rewrite covariance_line_start, covariance_sym.
    f_equal; apply covariance_ext; [reflexivity|intros; ring].
Qed.

End Directions.

Lemma is_derive_log_softmax_coordinate n z k a :
  (0 < n)%nat -> (k < n)%nat -> (a < n)%nat ->
  is_derive (fun t => log_softmax n (fun b => z b + t * unit_vector k b) a) 0
    (unit_vector k a - softmax n z k).
Proof.
  intros some k_inside inside; evar_last.
  - apply is_derive_log_softmax_line; assumption.
  - unfold centered, mean; rewrite sum_unit_vector by assumption; reflexivity.
Qed.
