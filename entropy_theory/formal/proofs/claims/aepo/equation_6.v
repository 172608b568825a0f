(** AEPO, Eq. 6: the gradient of entropy along a logit step is minus a covariance, with log pi or with the logits. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Directions.
From Trusted.Statements.aepo Require equation_6.
Open Scope R_scope.

(** What the forms are equal to: the derivative of entropy along the step. *)
Theorem gradient :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  derivative (fun t => entropy n (fun a => logits a + t * step a)) 0
    (- covariance n (softmax n logits) step logits).
Proof. intros; apply is_derive_Reals, is_derive_entropy_line; lia. Qed.

Theorem three_forms :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  - sum n (fun a => step a * softmax n logits a
                    * (log_softmax n logits a - mean n (softmax n logits) (log_softmax n logits)))
  - - covariance n (softmax n logits) step (log_softmax n logits) = 0
  /\
  - covariance n (softmax n logits) step (log_softmax n logits)
  - - covariance n (softmax n logits) step logits = 0.
Proof.
  intros n logits step some.
  assert (sum n (softmax n logits) = 1) as one by (apply softmax_sum; lia).
  split.
  - rewrite covariance_sym, covariance_centered_l by assumption.
    rewrite (mean_ext n _ (fun a => centered n (softmax n logits) (log_softmax n logits) a * step a)
               (fun a => step a * centered n (softmax n logits) (log_softmax n logits) a))
      by (intros; ring).
    unfold mean at 2; enough (forall x y, x = y -> - x - - y = 0) as same; [apply same|intros; lra].
    apply sum_ext; intros; unfold centered; ring.
  - rewrite (covariance_sym n _ step (log_softmax n logits)), covariance_log_softmax by (lia || assumption).
    rewrite (covariance_sym n _ logits step); ring.
Qed.

Theorem proved : Statements.aepo.equation_6.statement.
Proof.
  intros n logits step many.
  destruct (three_forms n logits step ltac:(lia)) as [by_action with_logits].
  repeat split; [lra|lra|apply gradient; lia].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aepo.equation_6.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.
