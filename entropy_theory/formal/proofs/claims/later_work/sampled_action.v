(** Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.3 and corollary: one sampled
    action k with weight w moves the logits by eta w (e_k - pi) and entropy, at first order, by
    -eta w (S_k - E S) with S_a = pi_a (log pi_a + H). Over k ~ pi this vanishes on average, and with advantages
    as weights the average is that of the policy gradient, -Cov(log pi, pi A). *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions Growth.
From Trusted.Statements.later_work Require sampled_action.
Open Scope R_scope.

Definition sampled_step (n : nat) (z : vector) (k : nat) (weight : R) : vector :=
  fun a => weight * (at_action k a - softmax n z a).

Section OneState.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Lemma sum_at_action f k : (k < n)%nat -> sum n (fun a => f a * at_action k a) = f k.
Proof. apply (mean_at_action n f k). Qed.

Lemma effect_of_sample k weight :
  (k < n)%nat -> first_order n z (sampled_step n z k weight) = - weight * excess n z k.
Proof.
  intros inside.
  assert (total : sum n (fun a => weight * at_action k a) = weight)
    by (apply (sum_at_action (fun _ => weight)), inside).
  transitivity (first_order n z (score_step n z (fun a => weight * at_action k a))).
  - unfold first_order; f_equal; apply covariance_ext; intros; [reflexivity|].
    unfold sampled_step, score_step; rewrite total; ring.
  - rewrite first_order_score_step by exact some.
    rewrite (sum_ext n _ (fun a => weight * excess n z a * at_action k a)) by (intros; ring).
    rewrite sum_at_action by exact inside; ring.
Qed.

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

Lemma effects :
  forall (n : nat) (logits reward : vector) (eta weight : R),
  (1 <= n)%nat ->
  (forall k, (k < n)%nat ->
     derivative (fun t => entropy n (fun a => logits a + t * sampled_step n logits k (eta * weight) a)) 0
       (- (eta * weight) * excess n logits k)
     /\ - covariance n (softmax n logits) logits (fun a => at_action k a - softmax n logits a)
        - - excess n logits k = 0)
  /\ mean n (softmax n logits) (fun k => - excess n logits k) = 0
  /\ mean n (softmax n logits) (fun k => centered n (softmax n logits) reward k * - excess n logits k)
     + covariance n (softmax n logits) logits
         (fun a => softmax n logits a * centered n (softmax n logits) reward a) = 0.
Proof.
  intros n logits reward eta weight one; assert (some : (0 < n)%nat) by lia; split; [|split].
  - intros k inside; split.
    + rewrite <- effect_of_sample by assumption; apply first_order_is_derivative, some.
    + pose proof (effect_of_sample n logits some k 1 inside) as effect; unfold first_order in effect.
      rewrite (covariance_ext n (softmax n logits) logits (sampled_step n logits k 1)
                 logits (fun a => at_action k a - softmax n logits a)) in effect
        by (intros; unfold sampled_step; ring).
      lra.
  - apply mean_effect, some.
  - pose proof (mean_effect_of_advantages n logits some reward) as same.
    rewrite covariance_log_softmax in same by (assumption || apply softmax_sum, some).
    rewrite (mean_ext n (softmax n logits)
      (fun k => centered n (softmax n logits) reward k * - excess n logits k)
      (fun k => - (centered n (softmax n logits) reward k * excess n logits k))) by (intros; ring).
    lra.
Qed.

Theorem proved : Statements.later_work.sampled_action.statement.
Proof.
  intros n logits step two; assert (some : (0 < n)%nat) by lia.
  destruct (effects n logits step 1 1 ltac:(lia)) as [each [average gradient]].
  split; [split; [|split]|].
  - intros k inside; destruct (each k inside) as [_ same].
    change (- covariance n (softmax n logits) logits (fun a => at_action k a - softmax n logits a)
            = - 1 * excess n logits k); lra.
  - rewrite <- average; apply mean_ext; intros k _.
    change (Statements.later_work.sampled_action.excess n logits k) with (excess n logits k); ring.
  - rewrite <- gradient; f_equal; apply mean_ext; intros k _.
    change (Statements.later_work.sampled_action.excess n logits k) with (excess n logits k); ring.
  - intros strength k inside.
    destruct (effects n logits step strength 1 ltac:(lia)) as [moves _].
    destruct (moves k inside) as [rate _]; rewrite Rmult_1_r in rate.
    apply derivative_ext with (2 := rate); intros t; apply entropy_ext; intros a _.
    unfold sampled_step, at_action, only; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.sampled_action.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.
