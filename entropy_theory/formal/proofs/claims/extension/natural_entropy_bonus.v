(** Extension: an entropy bonus under the natural gradient. The step -c log pi, c = eta lambda, is tempering:
    the new policy is softmax((1 - c) z). For 0 < c <= 1 it never lowers entropy; to first order it adds
    c Var(log pi). *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions Growth.
From Trusted.Statements.extension Require natural_entropy_bonus.
Open Scope R_scope.

Definition bonus_step (n : nat) (z : vector) (strength : R) : vector :=
  fun a => - strength * log_softmax n z a.

Lemma first_order_of_bonus n z :
  (0 < n)%nat ->
  derivative (fun c => entropy n (fun a => z a + c * - log_softmax n z a)) 0
    (covariance n (softmax n z) (log_softmax n z) (log_softmax n z)).
Proof.
  intros some.
  replace (covariance n (softmax n z) (log_softmax n z) (log_softmax n z))
    with (first_order n z (fun a => - log_softmax n z a)).
  - apply (first_order_is_derivative n z (fun a => - log_softmax n z a) some).
  - unfold first_order; rewrite <- (covariance_log_softmax n z) by (assumption || apply softmax_sum, some).
    rewrite (covariance_sym n (softmax n z) (log_softmax n z)).
    rewrite (covariance_ext n (softmax n z) (fun a => - log_softmax n z a) (log_softmax n z)
               (fun a => - 1 * log_softmax n z a) (log_softmax n z)) by (intros; ring).
    rewrite covariance_scal_l; ring.
Qed.

(** The same step, written with the strength in front of the log-probability. *)
Lemma close_to_same n z c :
  entropy n (fun a => z a + c * - log_softmax n z a) = entropy n (fun a => z a + bonus_step n z c a).
Proof. apply entropy_ext; intros; unfold bonus_step; ring. Qed.

(** The step is tempering, up to a shift of all logits. *)
Lemma bonus_is_tempering n z c :
  (0 < n)%nat ->
  entropy n (fun a => z a + bonus_step n z c a) = entropy n (fun a => (1 - c) * z a).
Proof.
  intros some.
  rewrite <- (entropy_shift n (fun a => (1 - c) * z a) (c * ln (sum n (fun b => exp (z b))))) by exact some.
  apply entropy_ext; intros a inside; unfold bonus_step; rewrite log_softmax_eq by exact some; ring.
Qed.

Lemma never_lowers :
  forall (n : nat) (logits : vector) (strength : R),
  (1 <= n)%nat -> 0 < strength -> strength <= 1 ->
  0 <= entropy n (fun a => logits a + bonus_step n logits strength a) - entropy n logits.
Proof.
  intros n logits strength one positive small.
  assert (some : (0 < n)%nat) by lia.
  rewrite bonus_is_tempering by exact some.
  pose proof (entropy_falls_with_scale n logits some (1 - strength) 1) as falls.
  assert (entropy n (fun a => 1 * logits a) = entropy n logits)
    by (apply entropy_ext; intros; ring).
  assert (entropy n (fun a => 1 * logits a) <= entropy n (fun a => (1 - strength) * logits a))
    by (apply falls; lra).
  lra.
Qed.

Theorem proved : Statements.extension.natural_entropy_bonus.statement.
Proof.
  intros n logits strength two positive small; split.
  - apply (never_lowers n logits strength ltac:(lia) positive small).
  - pose proof (first_order_of_bonus n logits ltac:(lia)) as rate.
    intros e e_positive; destruct (rate e e_positive) as [d close]; exists d; intros h nonzero near.
    specialize (close h nonzero near); cbv beta in close.
    rewrite !(close_to_same n logits) in close; exact close.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.natural_entropy_bonus.witness.
Proof. exists 2%nat, (fun _ => 0), 1; witnessed. Qed.
