(** Entropy Mechanism, lessons from the entropy dynamics (Table 1), with Theorem 2: "the covariance of
    natural policy gradient is positive, so entropy falls". False as printed, and true for a reward that is
    ordered like the policy, unless one of the two is constant: Chebyshev's sum inequality, strict. *)

From Coq Require Import Reals Lra Lia List Bool.
From PolicyEntropy.library Require Import Definitions Basics Contributions OrderedRewards.
Open Scope R_scope.

(** The covariance is minus the rate of entropy under the step A. *)
Lemma covariance_is_the_fall n logits reward :
  (0 < n)%nat ->
  derivative
    (fun t => entropy n (fun a => logits a + t * centered n (softmax n logits) reward a)) 0
    (- covariance n (softmax n logits) (log_softmax n logits) (centered n (softmax n logits) reward)).
Proof.
  intros some; rewrite covariance_log_softmax by (assumption || apply softmax_sum, some).
  apply (first_order_is_derivative n logits), some.
Qed.

Theorem proved :
  forall (n : nat) (logits reward : vector),
  (2 <= n)%nat ->
  (forall a b, (a < n)%nat -> (b < n)%nat ->
     0 <= (reward a - reward b) * (logits a - logits b)) ->
  0 < largest n logits - smallest n logits ->
  0 < largest n reward - smallest n reward ->
  0 < covariance n (softmax n logits) (log_softmax n logits) (centered n (softmax n logits) reward).
Proof.
  intros n logits reward two ordered not_uniform not_same.
  assert (some : (0 < n)%nat) by lia.
  rewrite natural_covariance_eq by exact some; apply natural_positive; assumption.
Qed.
