(** Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.3 and corollary: one sampled
    action k with weight w moves the logits by eta w (e_k - pi) and entropy, at first order, by
    -eta w (S_k - E S) with S_a = pi_a (log pi_a + H). Over k ~ pi this vanishes on average, and with advantages
    as weights the average is that of the policy gradient, -Cov(log pi, pi A). *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions TokenLosses.
From Trusted.Statements.later_work Require sampled_action.
Open Scope R_scope.

Section OneState.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Lemma mean_effect : mean n (softmax n z) (fun k => - excess n z k) = 0.
Proof. rewrite mean_opp, mean_excess by exact some; ring. Qed.

Lemma mean_effect_of_advantages reward :
  mean n (softmax n z) (fun k => - (centered n (softmax n z) reward k * excess n z k))
  = - covariance n (softmax n z) (log_softmax n z)
        (fun a => softmax n z a * centered n (softmax n z) reward a).
Proof.
  pose proof (softmax_sum n z some) as one.
  rewrite mean_opp, covariance_log_softmax, covariance_centered_l by assumption; f_equal.
  transitivity (covariance n (softmax n z) reward (own_covariance n z)); [reflexivity|].
  rewrite covariance_centered_l by exact one; apply mean_ext; intros; unfold own_covariance; ring.
Qed.

End OneState.

Theorem proved : Statements.later_work.sampled_action.statement.
Proof.
  intros n logits step two; assert (some : (0 < n)%nat) by lia.
  split; [split; [|split]|].
  - intros k inside; pose proof (effect_of_token n logits some k inside).
    change (- covariance n (softmax n logits) logits (fun a => at_action k a - softmax n logits a)
            = -1 * excess n logits k); lra.
  - rewrite <- (mean_effect n logits some); apply mean_ext; intros k _.
    change (-1 * excess n logits k = - excess n logits k); ring.
  - pose proof (mean_effect_of_advantages n logits some step) as same.
    rewrite covariance_log_softmax in same by (assumption || apply softmax_sum, some).
    apply Rplus_eq_reg_r with (- covariance n (softmax n logits) logits
      (fun a => softmax n logits a * centered n (softmax n logits) step a)).
    rewrite Rplus_assoc, Rplus_opp_r, Rplus_0_r, Rplus_0_l, <- same; apply mean_ext; intros k _.
    change (Statements.later_work.sampled_action.excess n logits k) with (excess n logits k); ring.
  - intros strength k inside; exact (rate_of_token n logits some k strength inside).
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.sampled_action.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.
