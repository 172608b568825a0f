(** REPO (arXiv 2603.11682): the expected step of A - beta (log pi + H) is that of A and of an entropy bonus beta. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions TokenLosses Witnesses.
From Trusted.Statements.later_work Require repo.
Open Scope R_scope.

Section OneState.

Variables (n : nat) (z s : vector) (beta : R).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let one : sum n p = 1 := softmax_sum n z some.
Let depth : vector := centered n p z.
Let modified : vector := fun a => s a - beta * depth a.

Lemma step a :
  score_step n z (fun b => p b * modified b) a - score_step n z (fun b => p b * s b) a
  = beta * entropy_gradient n z a.
Proof.
  rewrite entropy_gradient_eq by exact some; unfold score_step, modified.
  rewrite (sum_ext n (fun b => p b * (s b - beta * depth b)) (fun b => p b * s b - beta * (p b * depth b)))
    by (intros; ring).
  rewrite sum_minus, sum_scal.
  pose proof (mean_centered n p z one) as zero; unfold mean in zero; fold depth in zero; rewrite zero.
  fold p; fold depth; ring.
Qed.

Lemma rate :
  - covariance n p modified (own_covariance n z)
  = beta * sum n (fun a => own_covariance n z a * own_covariance n z a)
    - covariance n p s (own_covariance n z).
Proof.
  unfold p; rewrite !covariance_own by exact some; fold p.
  assert (sum n (fun a => own_covariance n z a * own_covariance n z a)
          = sum n (fun a => p a * depth a * excess n z a)) as squares.
  { transitivity (sum n (fun a => p a * depth a * excess n z a)
                  + mean n p depth * mean n p (own_covariance n z)).
    - unfold mean at 1; rewrite <- sum_scal_r, <- sum_plus; apply sum_ext; intros a _.
      rewrite excess_eq; fold p; unfold own_covariance at 1 2; fold p; fold depth; ring.
    - unfold depth at 2; rewrite mean_centered by exact one; ring. }
  rewrite squares, <- sum_scal.
  transitivity (sum n (fun a => beta * (p a * depth a * excess n z a) - p a * s a * excess n z a)).
  - rewrite <- sum_opp; apply sum_ext; intros; unfold modified; fold p; ring.
  - rewrite sum_minus; reflexivity.
Qed.

End OneState.

Theorem proved : Statements.later_work.repo.statement.
Proof.
  intros n logits score strength two _; assert (some : (0 < n)%nat) by lia; split.
  - intros a _; exact (step n logits score strength some a).
  - pose proof (rate_of_scores n logits some
      (fun a => score a - strength * centered n (softmax n logits) logits a)) as found.
    rewrite (rate n logits score strength some) in found; exact found.
Qed.

Theorem witness : Statements.later_work.repo.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), 1; witnessed. Qed.
