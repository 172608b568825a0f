(** The numbers c_a = pi_a (z_a - E z) as a function of the logit: negative below the mean and increasing above it.

    So c crosses every level m >= 0 once: there is a logit y with (z_a - y)(c_a - m) >= 0 for every action. At
    the level C = E c it is the threshold z+ of AEPO's Theorem 4.3. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks TemperedReinforce.
Open Scope R_scope.

(** z+ = max(E z, max{z_a : c_a < C}): some c_a is at least C, and counts as the mean. *)
Definition threshold (n : nat) (logits : vector) : R :=
  largest n (fun a =>
    if less (excess n logits a) 0 then logits a else mean n (softmax n logits) logits).

Lemma less_true x y : less x y = true <-> x < y.
Proof. unfold less; destruct (Rlt_dec x y); split; intros; auto; discriminate || contradiction. Qed.

Lemma less_false x y : less x y = false <-> y <= x.
Proof. unfold less; destruct (Rlt_dec x y); split; intros; auto; discriminate || lra. Qed.

Section OwnCovariance.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let c := own_covariance n z.
Let average := mean n p c.

Lemma excess_eq a : excess n z a = c a - average.
Proof. reflexivity. Qed.

Lemma mean_excess : mean n p (excess n z) = 0.
Proof. apply mean_centered, softmax_sum, some. Qed.

Lemma average_is_covariance : average = covariance n p z p.
Proof.
  rewrite covariance_centered_l by (apply softmax_sum, some).
  apply mean_ext; intros; unfold c, own_covariance, p; ring.
Qed.

(** Chebyshev's sum inequality: C >= 0. *)
Lemma average_nonneg : 0 <= average.
Proof.
  rewrite average_is_covariance.
  apply covariance_nonneg_ordered; [apply softmax_sum, some|intros; apply Rlt_le, softmax_pos, some|].
  intros a b _ _; unfold p.
  destruct (Rle_or_lt (z a) (z b)) as [below|above].
  - pose proof (softmax_le n z a b some below); nra.
  - assert (z b <= z a) as below by lra; pose proof (softmax_le n z b a some below); nra.
Qed.

(** Above the mean c increases with the logit. *)
Lemma own_covariance_le a b : mean n p z <= z a -> z a <= z b -> c a <= c b.
Proof.
  intros above below; unfold c, own_covariance, centered; fold p.
  apply Rmult_le_compat; [apply Rlt_le, softmax_pos, some|lra|apply softmax_le; assumption|lra].
Qed.

Lemma own_covariance_pos a : 0 < c a -> mean n p z < z a.
Proof.
  unfold c, own_covariance, centered; fold p; intros positive.
  destruct (Rlt_or_le (mean n p z) (z a)) as [above|below]; [assumption|].
  pose proof (softmax_pos n z a some) as weight; fold p in weight; nra.
Qed.

Lemma own_covariance_neg a : z a < mean n p z -> c a < 0.
Proof.
  intros below; unfold c, own_covariance, centered; fold p.
  pose proof (softmax_pos n z a some) as weight; fold p in weight; nra.
Qed.

(** The crossing of a level: a logit y that separates the c below the level from those above it. *)
Lemma own_covariance_crosses level :
  0 <= level ->
  exists y, mean n p z <= y /\
    (forall a, (a < n)%nat -> 0 <= (z a - y) * (c a - level)) /\
    (forall a, (a < n)%nat -> level < c a -> y < z a) /\
    (forall a, (a < n)%nat -> c a < level -> z a <= y).
Proof.
  intros nonneg.
  set (g := fun a => if less (c a) level then z a else mean n p z).
  set (y := Rmax (mean n p z) (largest n g)).
  assert (forall a, (a < n)%nat -> c a < level -> z a <= y) as low.
  { intros a inside below; unfold y.
    pose proof (largest_ge n g a inside) as top; unfold g at 1 in top.
    apply less_true in below; rewrite below in top.
    pose proof (Rmax_r (mean n p z) (largest n g)); lra. }
  assert (forall a, (a < n)%nat -> level < c a -> y < z a) as high.
  { intros a inside above.
    assert (mean n p z < z a) as over_mean by (apply own_covariance_pos; lra).
    unfold y; apply Rmax_lub_lt; [assumption|].
    destruct (largest_attained n g some) as (b & b_inside & ->); unfold g.
    destruct (less (c b) level) eqn:b_below; [|assumption].
    apply less_true in b_below.
    destruct (Rlt_or_le (z b) (z a)) as [fine|wrong]; [assumption|].
    assert (c a <= c b) by (apply own_covariance_le; lra); lra. }
  exists y; repeat split; [apply Rmax_l| |assumption|assumption].
  intros a inside; destruct (Rtotal_order (c a) level) as [below|[same|above]].
  - specialize (low a inside below); nra.
  - rewrite same; lra.
  - specialize (high a inside above); nra.
Qed.

(** * The level C *)

Lemma some_excess_nonneg : exists a, (a < n)%nat /\ 0 <= excess n z a.
Proof.
  destruct (largest_attained n (excess n z) some) as (a & inside & top).
  exists a; split; [assumption|]; rewrite <- top.
  rewrite <- mean_excess.
  apply mean_le_largest; [intros; apply Rlt_le, softmax_pos, some|apply softmax_sum, some].
Qed.

Lemma mean_le_threshold : mean n p z <= threshold n z.
Proof.
  destruct some_excess_nonneg as (a & inside & nonneg).
  pose proof (largest_ge n (fun b => if less (excess n z b) 0 then z b else mean n p z) a inside) as top.
  simpl in top; apply less_false in nonneg; rewrite nonneg in top; exact top.
Qed.

Lemma below_threshold a : (a < n)%nat -> excess n z a < 0 -> z a <= threshold n z.
Proof.
  intros inside below.
  pose proof (largest_ge n (fun b => if less (excess n z b) 0 then z b else mean n p z) a inside) as top.
  simpl in top; apply less_true in below; rewrite below in top; exact top.
Qed.

Lemma above_threshold a : (a < n)%nat -> 0 < excess n z a -> threshold n z < z a.
Proof.
  intros inside above.
  assert (average < c a) as over by (rewrite excess_eq in above; lra).
  pose proof average_nonneg as nonneg.
  assert (mean n p z < z a) as over_mean by (apply own_covariance_pos; lra).
  destruct (largest_attained n (fun b => if less (excess n z b) 0 then z b else mean n p z) some)
    as (b & b_inside & is_b).
  unfold threshold; fold p; rewrite is_b.
  destruct (less (excess n z b) 0) eqn:b_below; [|assumption].
  apply less_true in b_below; rewrite excess_eq in b_below.
  destruct (Rlt_or_le (z b) (z a)) as [fine|wrong]; [assumption|].
  assert (c a <= c b) by (apply own_covariance_le; lra); lra.
Qed.

(** The excess has the sign of z - z+. *)
Lemma excess_sign a : (a < n)%nat -> 0 <= (z a - threshold n z) * excess n z a.
Proof.
  intros inside; destruct (Rtotal_order (excess n z a) 0) as [below|[same|above]].
  - pose proof (below_threshold a inside below); nra.
  - rewrite same; lra.
  - pose proof (above_threshold a inside above); nra.
Qed.

End OwnCovariance.
