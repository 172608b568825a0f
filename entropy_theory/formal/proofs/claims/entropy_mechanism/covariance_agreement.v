(** Entropy Mechanism, Theorems 1 and 2, and the code of Clip-Cov and KL-Cov: do the covariances of plain
    and natural policy gradient agree in sign? Not in general; they do, and neither is zero, if the reward is
    ordered like the policy or in the opposite order. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions Masks OrderedRewards.
From Trusted.Statements.entropy_mechanism Require covariance_agreement.
Open Scope R_scope.

Definition plain (n : nat) (logits reward : vector) : R :=
  covariance n (softmax n logits) (log_softmax n logits)
    (fun a => softmax n logits a * centered n (softmax n logits) reward a).
Definition natural (n : nat) (logits reward : vector) : R :=
  covariance n (softmax n logits) (log_softmax n logits) (centered n (softmax n logits) reward).

Definition negated (f : vector) : vector := fun a => - f a.

Section OneState.

Variables (n : nat) (logits reward : vector).
Hypothesis some : (0 < n)%nat.

Lemma centered_negated p a : centered n p (negated reward) a = - centered n p reward a.
Proof. unfold centered, negated; rewrite mean_opp; ring. Qed.

Lemma covariance_minus p f g : covariance n p f (fun a => - g a) = - covariance n p f g.
Proof. unfold covariance, centered; rewrite <- mean_opp, mean_opp; apply mean_ext; intros; ring. Qed.

Lemma plain_negated : plain n logits (negated reward) = - plain n logits reward.
Proof.
  unfold plain; rewrite <- covariance_minus; apply covariance_ext; intros; [reflexivity|].
  rewrite centered_negated; ring.
Qed.

Lemma natural_negated : natural n logits (negated reward) = - natural n logits reward.
Proof.
  unfold natural; rewrite <- covariance_minus; apply covariance_ext; intros; [reflexivity|].
  apply centered_negated.
Qed.

Lemma spread_negated :
  0 < largest n reward - smallest n reward ->
  0 < largest n (negated reward) - smallest n (negated reward).
Proof.
  intros spread.
  destruct (largest_attained n reward some) as [a [a_inside top]].
  destruct (smallest_attained n reward some) as [b [b_inside low]].
  pose proof (largest_ge n (negated reward) b b_inside) as above.
  pose proof (smallest_le n (negated reward) a a_inside) as below.
  unfold negated in above, below; fold (negated reward) in above, below; lra.
Qed.

End OneState.

Lemma both_positive n logits reward :
  (0 < n)%nat -> ordered_alike n reward logits ->
  0 < largest n logits - smallest n logits -> 0 < largest n reward - smallest n reward ->
  0 < plain n logits reward /\ 0 < natural n logits reward.
Proof.
  intros some ordered not_uniform not_same; unfold plain, natural.
  rewrite plain_covariance_eq, natural_covariance_eq by exact some.
  split; [apply plain_positive|apply natural_positive]; assumption.
Qed.

Lemma same_sign :
  forall (n : nat) (logits reward : vector),
  (2 <= n)%nat ->
  (forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= (reward a - reward b) * (logits a - logits b))
  \/ (forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= - ((reward a - reward b) * (logits a - logits b))) ->
  0 < largest n logits - smallest n logits ->
  0 < largest n reward - smallest n reward ->
  0 < Rmax (Rmin (plain n logits reward) (natural n logits reward))
           (Rmin (- plain n logits reward) (- natural n logits reward)).
Proof.
  intros n logits reward two ordered not_uniform not_same.
  assert (some : (0 < n)%nat) by lia.
  destruct ordered as [alike|opposite].
  - destruct (both_positive n logits reward) as [plain_up natural_up]; try assumption.
    eapply Rlt_le_trans; [|apply Rmax_l]; apply Rmin_glb_lt; assumption.
  - destruct (both_positive n logits (negated reward)) as [plain_up natural_up]; try assumption.
    + intros a b a_inside b_inside; specialize (opposite a b a_inside b_inside).
      unfold negated; lra.
    + apply spread_negated; assumption.
    + rewrite plain_negated in plain_up; rewrite natural_negated in natural_up.
      eapply Rlt_le_trans; [|apply Rmax_r]; apply Rmin_glb_lt; assumption.
Qed.

Theorem proved : Statements.entropy_mechanism.covariance_agreement.repair.
Proof.
  intros n logits reward two either_order not_uniform not_same.
  assert (some : (0 < n)%nat) by lia.
  pose proof (same_sign n logits reward two) as agreement; unfold plain, natural in agreement.
  rewrite plain_covariance_eq, natural_covariance_eq in agreement by exact some.
  apply agreement; [|lra|lra].
  set (alike := smallest n (fun a => smallest n (fun b => (reward a - reward b) * (logits a - logits b))))
    in either_order.
  destruct (Rle_dec 0 alike) as [up|not_up].
  - left; exact (ordered_pairs n (fun a b => (reward a - reward b) * (logits a - logits b)) up).
  - right; apply (ordered_pairs n (fun a b => - ((reward a - reward b) * (logits a - logits b)))).
    unfold Rmax in either_order; destruct (Rle_dec alike _) in either_order; [exact either_order|lra].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.covariance_agreement.witness.
Proof.
  exists 2%nat, zero_and_one, zero_and_one; split; [lia|]; split; [|witnessed].
  eapply Rle_trans; [|apply Rmax_l].
  do 2 (apply smallest_on_ge; [apply all_nonempty; lia|]; intros; cbv beta); apply Rle_0_sqr.
Qed.
