(** Entropy Mechanism, lessons from the entropy dynamics (Table 1), with Theorem 2: "the covariance of
    natural policy gradient is positive, so entropy falls". False as printed, and true for a reward that is
    ordered like the policy, unless one of the two is constant: Chebyshev's sum inequality, strict. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions OrderedRewards.
From Trusted.Statements.entropy_mechanism Require covariance_positive_npg.
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

Theorem proved : Statements.entropy_mechanism.covariance_positive_npg.repair.
Proof.
  intros n logits reward two ordered not_uniform not_same.
  assert (some : (0 < n)%nat) by lia.
  pose proof (ordered_pairs n (fun a b => (reward a - reward b) * (logits a - logits b)) ordered) as pairs.
  pose proof (natural_covariance_eq n logits reward some) as same.
  split; [|split].
  - apply natural_positive; [exact some|exact pairs|lra|lra].
  - exact same.
  - pose proof (covariance_is_the_fall n logits reward some) as fall; rewrite same in fall; exact fall.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.covariance_positive_npg.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => match a with | 0%nat =>
    0 | _ => 1 end); witnessed.
Qed.
