(** Extension of the Entropy Mechanism, Lemma 1, to any differentiable parametrization of one state's
    policy: along any curve of d parameters the entropy moves by minus the covariance of log pi with
    the rates of log pi, dH = -Cov(log pi, <grad log pi, dtheta>). Both factors are read off samples. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Gradients.
From Trusted.Statements.extension Require score_covariance.
Open Scope R_scope.

Theorem any_parametrization :
  forall (d n : nat) (z : vector -> vector) (score : nat -> vector)
    (theta : R -> vector) (time : R) (velocity : vector),
  (1 <= n)%nat ->
  (forall a, (a < n)%nat ->
    has_gradient d (fun x => log_softmax n (z x) a) (theta time) (score a)) ->
  (forall i, (i < d)%nat -> derivative (fun t => theta t i) time (velocity i)) ->
  derivative (fun t => entropy n (z (theta t))) time
    (- covariance n (softmax n (z (theta time))) (log_softmax n (z (theta time)))
         (fun a => sum d (fun i => score a i * velocity i))).
Proof.
  intros d n z score theta time velocity some differentiable moves.
  rewrite covariance_sum_r, <- sum_opp.
  rewrite (sum_ext d _ (fun i =>
    - covariance n (softmax n (z (theta time))) (log_softmax n (z (theta time)))
        (fun a => score a i) * velocity i)) by (intros; ring).
  apply (chain_rule d (fun x => entropy n (z x))); [|exact moves].
  apply gradient_entropy; assumption.
Qed.

(** The statement as generated: any curve of logits, and two features with the derivative of entropy written
    out by the product rule. *)
Theorem proved : Statements.extension.score_covariance.statement.
Proof.
  unfold Statements.extension.score_covariance.statement.
  intros n logits first second pace at_least_two _.
  assert (0 < n)%nat as some by lia.
  assert (forall path velocity, (forall a, (a < n)%nat -> derivative (fun t => path t a) 0 (velocity a)) ->
    forall a, (a < n)%nat -> is_derive (fun t => path t a) 0 (velocity a)) as moves
    by (intros path velocity each a inside; apply is_derive_Reals, each, inside).
  split; [|split].
  - unfold Statements.extension.score_covariance.product_rule.
    set (p := softmax n logits).
    set (x := Statements.extension.score_covariance.score n logits first second pace).
    assert (sum n p = 1) as one by (apply softmax_sum, some).
    assert (mean n p x = 0) as zero.
    { unfold x, Statements.extension.score_covariance.score; fold p.
      rewrite mean_plus, mean_scal, !mean_centered by exact one; ring. }
    rewrite covariance_sym, covariance_centered_l by exact one.
    rewrite (mean_ext n p _ (fun a => x a * log_softmax n logits a))
      by (intros; unfold centered at 1; rewrite zero; ring).
    unfold mean in *; rewrite zero.
    rewrite (sum_ext n (fun a => p a * x a * log_softmax n logits a)
               (fun a => p a * (x a * log_softmax n logits a))) by (intros; ring).
    ring.
  - intros path velocity each a inside; apply is_derive_Reals.
    exact (is_derive_log_softmax n path velocity 0 some (moves path velocity each) a inside).
  - intros path velocity each; apply is_derive_Reals.
    pose proof (softmax_sum n (path 0) some) as one.
    replace (covariance n (softmax n (path 0)) (log_softmax n (path 0))
               (centered n (softmax n (path 0)) velocity))
      with (covariance n (softmax n (path 0)) (log_softmax n (path 0)) velocity).
    + exact (is_derive_entropy n path velocity 0 some (moves path velocity each)).
    + rewrite !(covariance_sym n _ (log_softmax n (path 0))).
      symmetry; apply (covariance_shift_l n _ (- mean n (softmax n (path 0)) velocity)), one.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses.

Theorem witness : Statements.extension.score_covariance.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0), 1; witnessed. Qed.

Theorem witness_1 : Statements.extension.score_covariance.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0), 1; limits_witnessed. Qed.

Theorem witness_2 : Statements.extension.score_covariance.witness_2.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0), 1; limits_witnessed. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require score_covariance.
From Trusted.Conditions.extension Require score_covariance.

Theorem any_parametrization_witness : Conditions.extension.score_covariance.any_parametrization_witness.
Proof.
  exists 1%nat, 1%nat, (fun _ _ => 0), (fun _ _ => 0), (fun _ _ => 0), 0, (fun _ => 0).
  split; [lia|]; split; [|intros; apply derivable_pt_lim_const].
  intros a _ e positive; exists 1; split; [lra|]; intros y _; simpl.
  match goal with |- Rabs ?x <= _ => replace x with 0 by ring end.
  rewrite Rabs_R0; apply Rmult_le_pos; [lra|]; pose proof (Rabs_pos (y 0%nat - 0)); lra.
Qed.
