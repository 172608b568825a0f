(** Logits as parameters of their own: the gradients of entropy and of expected reward at one state. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Gradients Kernels.
Open Scope R_scope.

Lemma gradient_coordinate d i x :
  (i < d)%nat -> has_gradient d (fun y => y i) x (fun j => if Nat.eqb j i then 1 else 0).
Proof.
  intros inside e positive; exists 1; split; [lra|]; intros y _.
  rewrite (sum_ext d _ (fun j => (y j - x j) * (if Nat.eqb j i then 1 else 0))), (sum_single d i)
    by (assumption || (intros; ring)).
  replace (y i - x i - (y i - x i)) with 0 by ring; rewrite Rabs_R0.
  apply Rmult_le_pos; [lra|apply sum_nonneg; intros; apply Rabs_pos].
Qed.

Lemma gradient_of_entropy n z :
  (0 < n)%nat -> has_gradient n (fun x => entropy n x) z (entropy_gradient n z).
Proof.
  intros some.
  apply gradient_ext with (g := fun i => sum n (fun a =>
    entropy_gradient n z a * (if Nat.eqb i a then 1 else 0))).
  - intros i inside.
    rewrite (sum_ext n _ (fun a => entropy_gradient n z a * (if Nat.eqb a i then 1 else 0)))
      by (intros; rewrite Nat.eqb_sym; reflexivity).
    apply (sum_single n i), inside.
  - apply (gradient_entropy_logits n n (fun x => x) z (fun a i => if Nat.eqb i a then 1 else 0) some).
    intros a inside; apply gradient_coordinate, inside.
Qed.

Lemma gradient_of_performance n z reward :
  (0 < n)%nat ->
  has_gradient n (fun x => mean n (softmax n x) reward) z
    (fun a => softmax n z a * centered n (softmax n z) reward a).
Proof.
  intros some.
  set (score := fun a i => centered n (softmax n z) (fun b => if Nat.eqb i b then 1 else 0) a).
  assert (forall a, (a < n)%nat -> has_gradient n (fun x => log_softmax n x a) z (score a)) as scores.
  { apply (gradient_log_softmax n n (fun x => x) z (fun b i => if Nat.eqb i b then 1 else 0) some).
    intros a inside; apply gradient_coordinate, inside. }
  apply gradient_ext with (g := fun i => sum n (fun a => reward a * (softmax n z a * score a i))).
  - intros i inside; unfold score, centered.
    assert (mean n (softmax n z) (fun b => if Nat.eqb i b then 1 else 0) = softmax n z i) as own.
    { unfold mean; rewrite (sum_ext n _ (fun b => softmax n z b * (if Nat.eqb b i then 1 else 0)))
        by (intros; rewrite Nat.eqb_sym; reflexivity).
      apply (sum_single n i), inside. }
    rewrite own, (sum_ext n _ (fun a => reward a * softmax n z a * (if Nat.eqb a i then 1 else 0)
                                        - softmax n z i * (softmax n z a * reward a)))
      by (intros; rewrite Nat.eqb_sym; ring).
    rewrite sum_minus, sum_scal, (sum_single n i (fun a => reward a * softmax n z a)) by exact inside.
    unfold mean; ring.
  - apply (gradient_function_ext n (fun x => sum n (fun a => reward a * softmax n x a))).
    { intros; apply sum_ext; intros; ring. }
    apply (gradient_sum n n (fun a x => reward a * softmax n x a) z
             (fun a i => reward a * (softmax n z a * score a i))).
    intros a inside; apply (gradient_scal n (fun x => softmax n x a)).
    apply (gradient_softmax n n (fun x => x) z score some scores a inside).
Qed.

(** Minus the covariance of log pi with a motion of the logits is the product with the gradient. *)
Lemma entropy_rate_gradient n z v :
  (0 < n)%nat ->
  - covariance n (softmax n z) (log_softmax n z) v = sum n (fun a => entropy_gradient n z a * v a).
Proof.
  intros some; rewrite covariance_centered_l by (apply softmax_sum, some).
  unfold mean at 1; rewrite <- sum_opp; apply sum_ext; intros a _.
  unfold entropy_gradient; rewrite entropy_log; unfold centered; ring.
Qed.
