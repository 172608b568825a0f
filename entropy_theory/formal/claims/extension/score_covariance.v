(** Extension of the Entropy Mechanism, Lemma 1, to any differentiable parametrization of one state's
    policy: along any curve of d parameters the entropy moves by minus the covariance of log pi with
    the rates of log pi, dH = -Cov(log pi, <grad log pi, dtheta>). Both factors are read off samples. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Gradients.
From Statements.extension Require Import score_covariance.
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

(** Two features that share their parameters, with the derivative of entropy written out by the product
    rule. *)
Theorem proved : statement.
Proof.
  unfold statement; intros n logits first second pace some _.
  assert (0 < n)%nat as n_positive by lia.
  set (p := softmax n logits); set (x := fun a => centered n p first a + pace * centered n p second a).
  assert (sum n p = 1) as one by (apply softmax_sum, n_positive).
  assert (mean n p x = 0) as zero.
  { unfold x; rewrite mean_plus, mean_scal, !mean_centered by exact one; ring. }
  rewrite covariance_sym, covariance_centered_l by exact one.
  rewrite (mean_ext n p _ (fun a => x a * log_softmax n logits a))
    by (intros; unfold centered at 1; rewrite zero; ring).
  unfold mean in *.
  change (sum n (fun a => p a * (centered n p first a + pace * centered n p second a)))
    with (sum n (fun a => p a * x a)); rewrite zero.
  rewrite (sum_ext n _ (fun a => p a * (x a * log_softmax n logits a))) by (intros; unfold x; ring).
  ring.
Qed.
