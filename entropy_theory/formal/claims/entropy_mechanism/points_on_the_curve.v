(** Clip-Cov on the curve of performance against entropy: the point leaves it upwards, to first order. *)

From Coq Require Import Reals Lra Lia Bool.
From PolicyEntropy.library Require Import Definitions Basics Masks.
From Statements.entropy_mechanism Require points_on_the_curve.
Open Scope R_scope.

Section OneKind.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : nonempty n A.

Let weight : vector := fun a => if A a then exp (z a - largest_on n A z) else 0.
Let share : vector := fun a => weight a / sum n weight.

Lemma weight_nonneg a : 0 <= weight a.
Proof. unfold weight; destruct (A a); [apply Rlt_le, exp_pos|lra]. Qed.

Lemma weights_positive : 0 < sum n weight.
Proof.
  destruct some as (k & inside & member).
  apply (sum_pos_term n weight k); [intros; apply weight_nonneg|exact inside|].
  unfold weight; rewrite member; apply exp_pos.
Qed.

Lemma share_nonneg a : 0 <= share a.
Proof.
  pose proof weights_positive; unfold share, Rdiv.
  apply Rmult_le_pos; [apply weight_nonneg|apply Rlt_le, Rinv_0_lt_compat; assumption].
Qed.

Lemma shares_sum : total_on n A share = 1.
Proof.
  pose proof weights_positive as positive.
  transitivity (sum n share).
  - apply sum_ext; intros a _; unfold only, share, weight; destruct (A a); [reflexivity|unfold Rdiv; ring].
  - unfold share; rewrite sum_div; field; lra.
Qed.

(** The likeliest of a kind has at least the mean logit, the least likely one at most. *)
Lemma mean_below_largest : total_on n A (fun a => share a * z a) <= largest_on n A z.
Proof.
  rewrite <- (Rmult_1_r (largest_on n A z)), <- shares_sum.
  unfold total_on; rewrite <- sum_scal; apply sum_le; intros a inside; unfold only.
  destruct (A a) eqn:member; [|lra].
  rewrite (Rmult_comm (largest_on n A z)); apply Rmult_le_compat_l; [apply share_nonneg|].
  apply largest_on_ge; assumption.
Qed.

Lemma smallest_below_mean : smallest_on n A z <= total_on n A (fun a => share a * z a).
Proof.
  rewrite <- (Rmult_1_r (smallest_on n A z)), <- shares_sum.
  unfold total_on; rewrite <- sum_scal; apply sum_le; intros a inside; unfold only.
  destruct (A a) eqn:member; [|lra].
  rewrite (Rmult_comm (smallest_on n A z)); apply Rmult_le_compat_l; [apply share_nonneg|].
  apply smallest_on_le; assumption.
Qed.

Lemma largest_share_nonneg : 0 <= largest_on n A share.
Proof. destruct (largest_on_attained n A share some) as (a & _ & _ & ->); apply share_nonneg. Qed.

Lemma smallest_share_nonneg : 0 <= smallest_on n A share.
Proof. destruct (smallest_on_attained n A share some) as (a & _ & _ & ->); apply share_nonneg. Qed.

Lemma probability_nonneg : (0 < n)%nat -> 0 <= total_on n A (softmax n z).
Proof.
  intros n_pos; apply sum_nonneg; intros a _; unfold only.
  destruct (A a); [apply Rlt_le, softmax_pos, n_pos|lra].
Qed.

End OneKind.

Lemma some_wrong_answer n (A : mask) :
  ~ (forall a, (a < n)%nat -> A a = true) -> nonempty n (fun a => negb (A a)).
Proof.
  intros not_all; apply some_on_spec.
  destruct (some_on n (fun a => negb (A a))) eqn:found; [reflexivity|exfalso; apply not_all].
  intros a inside; pose proof (some_on_empty n _ found a inside) as right; simpl in right.
  destruct (A a); [reflexivity|discriminate].
Qed.

Theorem proved : Statements.entropy_mechanism.points_on_the_curve.repair.
Proof.
  intros n logits correct two some not_all.
  pose proof (some_wrong_answer n correct not_all) as wrong.
  assert (0 < n)%nat as n_pos by lia.
  split.
  - apply Rmult_le_pos; [apply Rmult_le_pos|].
    + apply probability_nonneg, n_pos.
    + apply (largest_share_nonneg n logits correct some).
    + pose proof (mean_below_largest n logits correct some) as below.
      unfold Statements.entropy_mechanism.points_on_the_curve.conditional_without_temperature; lra.
  - apply Rmult_le_pos; [apply Rmult_le_pos|].
    + apply probability_nonneg, n_pos.
    + apply (smallest_share_nonneg n logits (fun a => negb (correct a)) wrong).
    + pose proof (smallest_below_mean n logits (fun a => negb (correct a)) wrong) as below.
      unfold Statements.entropy_mechanism.points_on_the_curve.conditional_without_temperature; lra.
Qed.
