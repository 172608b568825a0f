(** Extension of the Entropy Mechanism, Lemma 1, to any differentiable parametrization of one state's
    policy: along any curve of d parameters the entropy moves by minus the covariance of log pi with
    the rates of log pi, dH = -Cov(log pi, <grad log pi, dtheta>). Both factors are read off samples. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Gradients.
Open Scope R_scope.

Theorem proved :
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
