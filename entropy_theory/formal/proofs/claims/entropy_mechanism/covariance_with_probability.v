(** The covariance of the advantage with the probability and with the log-probability have one sign where the
    reward is ordered like the policy, or in the opposite order. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks.
From Trusted.Statements.entropy_mechanism Require covariance_with_probability.
Open Scope R_scope.

(** A bound on every entry of a table from its smallest one. *)
Lemma every_pair n (f : nat -> nat -> R) :
  0 <= smallest n (fun a => smallest n (f a)) ->
  forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= f a b.
Proof.
  intros least a b a_inside b_inside.
  pose proof (smallest_le n (fun c => smallest n (f c)) a a_inside) as row.
  pose proof (smallest_le n (f a) b b_inside) as entry; simpl in row; lra.
Qed.

Section Ordered.

Variables (n : nat) (z reward : vector).
Hypothesis n_pos : (0 < n)%nat.

(** Chebyshev's sum inequality, for the logits and for the probabilities, which have their order. *)
Lemma both_nonneg (f : vector) :
  (forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= (f a - f b) * (z a - z b)) ->
  0 <= covariance n (softmax n z) (softmax n z) f /\ 0 <= covariance n (softmax n z) z f.
Proof.
  intros alike; split; apply covariance_nonneg_ordered;
    try (apply softmax_sum, n_pos); try (intros; apply Rlt_le, softmax_pos, n_pos).
  - intros a b a_inside b_inside; specialize (alike a b a_inside b_inside).
    destruct (Rtotal_order (z a) (z b)) as [less|[same|more]].
    + pose proof (softmax_le n z a b n_pos ltac:(lra)).
      assert (f a - f b <= 0) by nra; nra.
    + pose proof (softmax_le n z a b n_pos ltac:(lra)); pose proof (softmax_le n z b a n_pos ltac:(lra)).
      replace (softmax n z a - softmax n z b) with 0 by lra; lra.
    + pose proof (softmax_le n z b a n_pos ltac:(lra)).
      assert (0 <= f a - f b) by nra; nra.
  - intros a b a_inside b_inside; specialize (alike a b a_inside b_inside); lra.
Qed.

Lemma covariance_negated p g f : covariance n p g (fun a => - f a) = - covariance n p g f.
Proof.
  unfold covariance, mean, centered, mean.
  rewrite <- (Rmult_1_l (sum n (fun a => p a * ((g a - _) * (f a - _))))), <- Ropp_mult_distr_l_reverse, <- sum_scal.
  apply sum_ext; intros a _.
  replace (sum n (fun b => p b * - f b)) with (- sum n (fun b => p b * f b)); [ring|].
  replace (- sum n (fun b => p b * f b)) with (-1 * sum n (fun b => p b * f b)) by ring.
  rewrite <- sum_scal; apply sum_ext; intros; ring.
Qed.

End Ordered.

Theorem proved : Statements.entropy_mechanism.covariance_with_probability.repair.
Proof.
  intros n logits reward two either_order.
  assert (0 < n)%nat as n_pos by lia.
  unfold Statements.entropy_mechanism.covariance_with_probability.natural_covariance.
  set (alike := smallest n (fun a => smallest n (fun b => (reward a - reward b) * (logits a - logits b))))
    in either_order.
  destruct (Rle_dec 0 alike) as [up|not_up].
  - destruct (both_nonneg n logits n_pos reward (every_pair n _ up)) as [first second].
    eapply Rle_trans; [|apply Rmax_l]; apply Rmin_glb; assumption.
  - assert (0 <= smallest n (fun a => smallest n (fun b => - ((reward a - reward b) * (logits a - logits b))))) as down.
    { unfold Rmax in either_order; destruct (Rle_dec alike _) in either_order; [exact either_order|lra]. }
    destruct (both_nonneg n logits n_pos (fun a => - reward a)) as [first second].
    { intros a b a_inside b_inside; pose proof (every_pair n _ down a b a_inside b_inside); simpl in *; lra. }
    rewrite covariance_negated in first, second.
    eapply Rle_trans; [|apply Rmax_r]; apply Rmin_glb; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.covariance_with_probability.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.
