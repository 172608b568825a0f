(** Every loss that multiplies grad log pi of a token by a coefficient s: entropy has the rate - Cov_pi(s, c),
    c_a = pi_a (log pi_a + H). A constant added to s changes no step. Ordered like the policy s does not raise
    entropy, ordered the other way round it does not lower it. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions OrderedRewards TokenLosses.
From Trusted.Statements.extension Require loss_coefficient.
Open Scope R_scope.

Theorem proved : Statements.extension.loss_coefficient.statement.
Proof.
  intros n logits score two; assert (some : (0 < n)%nat) by lia.
  split; [|split; [|split; [|split]]].
  - change (first_order n logits (score_step n logits (fun b => softmax n logits b * score b))
            + covariance n (softmax n logits) score (own_covariance n logits) = 0).
    rewrite first_order_of_scores by exact some; ring.
  - apply rate_of_scores, some.
  - intros baseline a _; apply score_step_shift, some.
  - intros ordered; apply covariance_of_rising, (rises_of_ordered n logits score); [exact some|].
    exact (ordered_pairs n (fun a b => (score a - score b) * (logits a - logits b)) ordered).
  - intros ordered.
    assert (0 <= covariance n (softmax n logits) (fun a => -1 * score a) (own_covariance n logits)) as against.
    { apply covariance_of_rising, (rises_of_ordered n logits); [exact some|].
      intros a b a_inside b_inside.
      pose proof (ordered_pairs n (fun a b => (- score a - - score b) * (logits a - logits b)) ordered
                    a b a_inside b_inside) as pair; cbv beta in pair; lra. }
    rewrite covariance_scal_l in against.
    change (covariance n (softmax n logits) score (own_covariance n logits) <= 0); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.loss_coefficient.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.

Theorem witness_1 : Statements.extension.loss_coefficient.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.

Theorem witness_2 : Statements.extension.loss_coefficient.witness_2.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.
