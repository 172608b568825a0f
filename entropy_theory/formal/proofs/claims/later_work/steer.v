(** STEER (arXiv 2510.10150): the estimate -(1 - pi_k) c_k of what a token of advantage 1 does to entropy. The
    change is -(c_k - C): the estimate is short of it by C - pi_k c_k, and below e^{-H} has its sign. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Contributions TokenLosses.
From Trusted.Statements.later_work Require steer.
Open Scope R_scope.

Lemma softmax_below_1 n z a : (2 <= n)%nat -> (a < n)%nat -> softmax n z a < 1.
Proof.
  intros two inside; assert (some : (0 < n)%nat) by lia; rewrite <- (softmax_sum n z some).
  set (other := if Nat.eqb a 0 then 1%nat else 0%nat).
  assert (other < n /\ other <> a)%nat as [o_inside o_other]
    by (unfold other; destruct (Nat.eqb_spec a 0); lia).
  rewrite <- (sum_single n a (softmax n z)) by exact inside.
  apply (sum_lt _ _ _ other); [|exact o_inside|].
  - intros b b_inside; pose proof (softmax_pos n z b some); destruct (Nat.eqb b a); lra.
  - pose proof (softmax_pos n z other some); destruct (Nat.eqb_spec other a); [contradiction|lra].
Qed.

Theorem proved : Statements.later_work.steer.repair.
Proof.
  intros n logits two; assert (some : (0 < n)%nat) by lia.
  assert (effect : forall a, (a < n)%nat ->
            Statements.later_work.steer.effect_of_sample n logits a = - excess n logits a)
    by exact (effect_of_token n logits some).
  split; [|split; [|exact effect]].
  - intros a inside; rewrite effect by exact inside.
    destruct (less (Statements.later_work.steer.relative_log_prob n logits a) 0) eqn:rare; [|lra].
    apply is_less in rare.
    change (0 < - (1 - softmax n logits a) * (softmax n logits a * centered n (softmax n logits) logits a)
                * - excess n logits a).
    assert (centered n (softmax n logits) logits a < 0) as below by exact rare.
    pose proof (rare_below_mean n logits some a below); pose proof (softmax_pos n logits a some).
    pose proof (softmax_below_1 n logits a two inside).
    replace (- (1 - softmax n logits a) * (softmax n logits a * centered n (softmax n logits) logits a)
             * - excess n logits a)
      with ((1 - softmax n logits a) * (softmax n logits a * - centered n (softmax n logits) logits a)
            * - excess n logits a) by ring.
    apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [lra|apply Rmult_lt_0_compat; lra]|lra].
  - intros a inside; rewrite effect by exact inside.
    change (- (own_covariance n logits a - mean n (softmax n logits) (own_covariance n logits))
            - - (1 - softmax n logits a) * own_covariance n logits a
            = mean n (softmax n logits) (own_covariance n logits)
              - softmax n logits a * own_covariance n logits a); ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.steer.witness.
Proof. exists 2%nat, (fun _ => 0); witnessed. Qed.
