(** Extension of Entropy Mechanism, Lemma 1: with one right action the sign of the exact gradient does not raise entropy
    where the gradient does not. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks OneRight TemperedReinforce OwnCovariance CoinRewards.
From Trusted.Statements.extension Require sign_step_one_right.
Open Scope R_scope.

Theorem proved : Statements.extension.sign_step_one_right.statement.
Proof.
  intros n z A two chosen few lowered; assert (0 < n)%nat as some by lia.
  destruct (one_of_count n A chosen few) as (k & inside & at_k & alone).
  set (p := softmax n z); set (r := fun a => if A a then 1 else 0); assert (0 < p k) as positive by apply softmax_pos, some.
  assert (forall f, mean n p (fun a => r a * f a) = p k * f k) as at_one.
  { intros f; rewrite <- (total_on_one n A k inside at_k alone (fun a => p a * f a)).
    apply sum_ext; intros a _; unfold only, r; destruct (A a); ring. }
  change (0 <= covariance n p z (fun a => p a * centered n p r a)) in lowered.
  unfold p in lowered; rewrite fall_as_excess in lowered by exact some; fold p in lowered.
  rewrite at_one, excess_eq in lowered; pose proof (average_nonneg n z some) as average; fold p in average.
  change (0 <= covariance n p z r); rewrite covariance_centered_l by apply softmax_sum, some.
  rewrite (mean_ext n p _ (fun a => r a * centered n p z a)) by (intros; ring); rewrite at_one.
  change (own_covariance n z k) with (p k * centered n p z k) in lowered; fold p in lowered.
  enough (0 <= p k * centered n p z k - mean n p (own_covariance n z)) by lra.
  apply Rmult_le_reg_l with (p k); [exact positive|rewrite Rmult_0_r; exact lowered].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.sign_step_one_right.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 0); witnessed. Qed.
