(** Top-entropy tokens (arXiv 2506.01939): rewards in [0, 1] move the entropy of a state by at most H^2 per unit learning
    rate.

    The covariance of r and c is half a sum over pairs. No c is larger than H, and sum pi (1 - pi) <= H. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions Divergence OrderedRewards.
From Trusted.Statements.later_work Require top_entropy.
Open Scope R_scope.

Section OneState.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let one : sum n p = 1 := softmax_sum n z some.

Lemma entropy_of_pairs : 1 - sum n (fun a => p a * p a) <= entropy n z.
Proof.
  rewrite <- one, <- sum_minus; unfold entropy; fold p; rewrite <- sum_opp; apply sum_le; intros a _.
  pose proof (softmax_pos n z a some : 0 < p a) as positive; pose proof (ln_below_line (p a) positive); nra.
Qed.

Lemma own_covariance_within a : (a < n)%nat -> Rabs (own_covariance n z a) <= entropy n z.
Proof.
  intros inside; pose proof (softmax_pos n z a some : 0 < p a); pose proof (softmax_le_1 n z a inside : p a <= 1).
  pose proof (entropy_nonneg n z some); pose proof (log_softmax_nonpos n z some a inside).
  assert (- (p a * log_softmax n z a) <= entropy n z) as term.
  { unfold entropy; rewrite <- sum_opp.
    apply (sum_ge_term n (fun b => - (softmax n z b * ln (softmax n z b))) a); [|exact inside].
    intros b b_inside; pose proof (softmax_pos n z b some); pose proof (log_softmax_nonpos n z some b b_inside).
    unfold log_softmax in *; nra. }
  unfold own_covariance; rewrite <- log_softmax_plus_entropy by assumption; fold p.
  apply Rabs_le; nra.
Qed.

Lemma pair_within r a b :
  (a < n)%nat -> (b < n)%nat -> 0 <= r a <= 1 -> 0 <= r b <= 1 ->
  Rabs (p a * p b * ((r a - r b) * (own_covariance n z a - own_covariance n z b)))
  <= 2 * entropy n z * (p a * (p b - p b * at_action a b)).
Proof.
  intros a_inside b_inside a_unit b_unit.
  pose proof (softmax_pos n z a some : 0 < p a); pose proof (softmax_pos n z b some : 0 < p b).
  pose proof (entropy_nonneg n z some).
  unfold at_action, only; destruct (Nat.eqb_spec a b) as [same|other].
  - subst b; rewrite !Rminus_diag_eq, Rmult_0_l, Rmult_0_r, Rabs_R0 by reflexivity; nra.
  - pose proof (own_covariance_within a a_inside) as of_a; pose proof (own_covariance_within b b_inside) as of_b.
    apply Rabs_le_between in of_a; apply Rabs_le_between in of_b.
    rewrite !Rabs_mult, (Rabs_right (p a)), (Rabs_right (p b)) by lra.
    assert (Rabs (r a - r b) <= 1) as unit by (apply Rabs_le; lra).
    assert (Rabs (own_covariance n z a - own_covariance n z b) <= 2 * entropy n z) as wide by (apply Rabs_le; lra).
    pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos _) (Rabs_pos _) unit wide) as product.
    replace (2 * entropy n z * (p a * (p b - p b * 0))) with (p a * p b * (1 * (2 * entropy n z))) by ring.
    apply Rmult_le_compat_l; [nra|exact product].
Qed.

Lemma Rabs_of_sum m f : Rabs (sum m f) <= sum m (fun a => Rabs (f a)).
Proof.
  induction m as [|k IH]; simpl; [rewrite Rabs_R0; lra|].
  pose proof (Rabs_triang (sum k f) (f k)); lra.
Qed.

Lemma covariance_within r :
  (forall a, (a < n)%nat -> 0 <= r a <= 1) -> Rabs (covariance n p r (own_covariance n z)) <= entropy n z ^ 2.
Proof.
  intros unit; pose proof (entropy_nonneg n z some); pose proof entropy_of_pairs.
  enough (Rabs (2 * covariance n p r (own_covariance n z))
          <= 2 * entropy n z * (1 - sum n (fun a => p a * p a))) as pairs.
  { rewrite Rabs_mult, (Rabs_right 2) in pairs by lra; nra. }
  rewrite covariance_pairs by exact one.
  apply Rle_trans with (1 := Rabs_of_sum n _).
  apply Rle_trans with (sum n (fun a => 2 * entropy n z * (p a - p a * p a))).
  2: { rewrite sum_scal, sum_minus, one; lra. }
  apply sum_le; intros a a_inside.
  apply Rle_trans with (1 := Rabs_of_sum n _).
  apply Rle_trans with (sum n (fun b => 2 * entropy n z * (p a * (p b - p b * at_action a b)))).
  - apply sum_le; intros b b_inside; apply pair_within; auto.
  - rewrite !sum_scal, sum_minus, one.
    change (sum n (fun b => p b * at_action a b)) with (mean n p (at_action a)).
    rewrite mean_at_action by exact a_inside; lra.
Qed.

End OneState.

Theorem proved : Statements.later_work.top_entropy.repair.
Proof.
  intros n logits reward two above below; assert (some : (0 < n)%nat) by lia.
  split.
  - apply covariance_within; [exact some|]; intros a inside; split; auto.
  - change (derivative (fun t => entropy n (fun a => logits a
      + t * (softmax n logits a * centered n (softmax n logits) reward a))) 0
      (- covariance n (softmax n logits) reward (own_covariance n logits))).
    rewrite <- (plain_covariance_eq n logits reward some).
    rewrite covariance_log_softmax by (assumption || apply softmax_sum, some).
    apply (first_order_is_derivative n logits), some.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.top_entropy.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.
