(** REPO-R (arXiv 2603.11682): with rewards 1 and -1 the rescaled advantage A - zeta |A| log pi has at least the rate
    of entropy that A has. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions TokenLosses.
From Trusted.Statements.later_work Require repo_rescaled.
Open Scope R_scope.

Theorem proved : Statements.later_work.repo_rescaled.repair.
Proof.
  intros n logits correct strength two _ _; assert (some : (0 < n)%nat) by lia.
  pose proof (softmax_sum n logits some) as one.
  assert (same : Statements.later_work.repo_rescaled.sized n logits (fun _ => 1)
                 = covariance n (softmax n logits) (log_softmax n logits) (own_covariance n logits)).
  { apply covariance_ext; intros; [ring|reflexivity]. }
  rewrite same; split.
  - rewrite covariance_log_softmax by assumption.
    apply covariance_of_rising; [exact some|intros; lra].
  - pose proof (rate_of_scores n logits some
      (fun a => (if correct a then 1 else - (1)) - strength * log_softmax n logits a)) as found.
    replace (- covariance n (softmax n logits)
               (fun a => (if correct a then 1 else - (1)) - strength * log_softmax n logits a)
               (own_covariance n logits))
      with (strength * covariance n (softmax n logits) (log_softmax n logits) (own_covariance n logits)
            - covariance n (softmax n logits) (fun a => if correct a then 1 else - (1))
                (own_covariance n logits)) in found; [exact found|].
    rewrite !covariance_own by exact some; rewrite <- sum_scal, <- sum_minus, <- sum_opp.
    apply sum_ext; intros; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.repo_rescaled.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1; witnessed. Qed.
