(** AEPO, Eq. 5: the expected logit step of tempered REINFORCE. The score, d log pi_a / d z_k = delta_ak - pi_k, is
    that of pi; the samples are from pi^T. *)

From Coq Require Import Reals Lra Lia Arith Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Directions.
From Trusted.Statements.aepo Require equation_5.
Open Scope R_scope.

(** What is differentiated: the expected log-probability of the correct tempered samples. Along any direction of
    logits its derivative is the product with the step, per unit learning rate. *)
Theorem expected_score_along :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (direction : vector),
  (1 <= n)%nat ->
  is_derive
    (fun t => total_on n correct (fun a =>
       softmax n (tempered temperature logits) a
       * log_softmax n (fun b => logits b + t * direction b) a))
    0 (sum n (fun a => unit_step n logits correct temperature a * direction a)).
Proof.
  intros n logits correct temperature direction some.
  set (hits := only correct (softmax n (tempered temperature logits))).
  apply is_derive_ext with
    (f := fun t => sum n (fun a => hits a * log_softmax n (fun b => logits b + t * direction b) a)).
  { intros t; apply sum_ext; intros a _; unfold hits, only; destruct (correct a); ring. }
  evar_last.
  - apply (is_derive_sum n (fun t a => hits a * log_softmax n (fun b => logits b + t * direction b) a)
             (fun a => hits a * centered n (softmax n logits) direction a)).
    intros a inside; apply is_derive_scal, is_derive_log_softmax_line; [lia|assumption].
  - unfold unit_step, centered; fold hits.
    rewrite (sum_ext n _ (fun a => hits a * direction a - hits a * mean n (softmax n logits) direction))
      by (intros; ring).
    rewrite (sum_ext n (fun a => (hits a - total_on n correct (softmax n (tempered temperature logits))
                                           * softmax n logits a) * direction a)
               (fun a => hits a * direction a
                         - total_on n correct (softmax n (tempered temperature logits))
                           * (softmax n logits a * direction a))) by (intros; ring).
    rewrite !sum_minus, sum_scal, sum_scal_r; reflexivity.
Qed.

(** In particular along one logit. *)
Theorem expected_score :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (k : nat),
  (1 <= n)%nat -> (k < n)%nat -> 0 < temperature ->
  derivative
    (fun t => total_on n correct (fun a =>
       softmax n (tempered temperature logits) a
       * log_softmax n (fun b => logits b + t * unit_vector k b) a))
    0 (unit_step n logits correct temperature k).
Proof.
  intros n logits correct temperature k some inside _; apply is_derive_Reals; evar_last.
  - apply expected_score_along, some.
  - apply sum_unit_vector, inside.
Qed.

Theorem step :
  forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
  (1 <= n)%nat -> 0 < temperature -> 0 < learning_rate ->
  forall k, (k < n)%nat ->
  learning_rate
  * sum n (fun a => only correct (softmax n (tempered temperature logits)) a
                    * (unit_vector a k - softmax n logits k))
  - learning_rate * unit_step n logits correct temperature k = 0.
Proof.
  intros n logits correct temperature learning_rate some positive rate_positive k inside.
  rewrite (sum_ext n _ (fun a => only correct (softmax n (tempered temperature logits)) a * unit_vector k a
                                 - only correct (softmax n (tempered temperature logits)) a * softmax n logits k))
    by (intros; rewrite unit_vector_sym; ring).
  rewrite sum_minus, sum_scal_r, sum_unit_vector by assumption.
  unfold unit_step, total_on; ring.
Qed.

Theorem proved : Statements.aepo.equation_5.statement.
Proof.
  intros n logits correct temperature learning_rate many some_correct positive learns; split.
  - intros a inside.
    pose proof (step n logits correct temperature learning_rate ltac:(lia) positive learns a inside) as same.
    apply Rminus_diag_uniq in same; exact same.
  - intros direction; apply is_derive_Reals.
    apply expected_score_along; lia.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.equation_5.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1; witnessed. Qed.

Theorem defined : Statements.aepo.equation_5.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aepo Require equation_5.
From Trusted.Conditions.aepo Require equation_5.

Theorem expected_score_witness : Conditions.aepo.equation_5.expected_score_witness.
Proof. exists 1%nat, 1, 0%nat; met. Qed.

Theorem expected_score_defined : Conditions.aepo.equation_5.expected_score_defined.
Proof. domains. Qed.
