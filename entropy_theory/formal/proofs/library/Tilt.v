(** Softmax under added logits: softmax(z + d) has the density e^d / E[e^d] with respect to softmax(z), so that
    its expectations differ by a covariance. Temperature is the case d = (1/T' - 1/T) z. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

Lemma exp_nondecreasing x y : x <= y -> exp x <= exp y.
Proof.
  intros [below|same]; [apply Rlt_le, exp_increasing, below|rewrite same; lra].
Qed.

Section Tilt.

Variables (n : nat) (z d : vector).
Hypothesis some : (0 < n)%nat.

Let density : vector := fun a => exp (d a).

Lemma density_mean_pos : 0 < mean n (softmax n z) density.
Proof.
  apply sum_pos; [assumption|intros; apply Rmult_lt_0_compat; [apply softmax_pos, some|apply exp_pos]].
Qed.

Lemma softmax_tilted a :
  softmax n (fun b => z b + d b) a
  = softmax n z a * density a / mean n (softmax n z) density.
Proof.
  pose proof (normalizer_pos n z some) as positive.
  assert (mean n (softmax n z) density
          = sum n (fun b => exp (z b + d b)) / sum n (fun b => exp (z b))) as ratio.
  { unfold mean, softmax; rewrite <- sum_div; apply sum_ext; intros b _.
    unfold density; rewrite exp_plus; field; lra. }
  pose proof (normalizer_pos n (fun b => z b + d b) some) as shifted; simpl in shifted.
  rewrite ratio; unfold softmax, density; rewrite exp_plus; field; lra.
Qed.

Lemma mean_tilted f :
  mean n (softmax n (fun b => z b + d b)) f
  = mean n (softmax n z) (fun a => density a * f a) / mean n (softmax n z) density.
Proof.
  unfold mean at 1; unfold mean at 1; rewrite <- sum_div; apply sum_ext; intros a _.
  rewrite softmax_tilted; pose proof density_mean_pos; field; lra.
Qed.

Lemma mean_tilted_minus f :
  mean n (softmax n (fun b => z b + d b)) f - mean n (softmax n z) f
  = covariance n (softmax n z) density f / mean n (softmax n z) density.
Proof.
  rewrite mean_tilted, covariance_eq by (apply softmax_sum, some).
  pose proof density_mean_pos; field; lra.
Qed.

(** Adding logits that increase with f does not lower the expectation of f. *)
Lemma mean_tilted_ge f :
  (forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= (d a - d b) * (f a - f b)) ->
  mean n (softmax n z) f <= mean n (softmax n (fun b => z b + d b)) f.
Proof.
  intros ordered.
  enough (0 <= covariance n (softmax n z) density f / mean n (softmax n z) density)
    by (pose proof (mean_tilted_minus f); lra).
  apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, density_mean_pos].
  apply covariance_nonneg_ordered; [apply softmax_sum, some|intros; apply Rlt_le, softmax_pos, some|].
  intros a b a_inside b_inside; specialize (ordered a b a_inside b_inside); unfold density.
  destruct (Rtotal_order (d a) (d b)) as [below|[same|above]].
  - pose proof (exp_increasing _ _ below).
    assert (f a - f b <= 0) by nra.
    nra.
  - rewrite same; lra.
  - pose proof (exp_increasing _ _ above).
    assert (0 <= f a - f b) by nra.
    nra.
Qed.

End Tilt.

(** Two temperatures, by their inverses. *)
Lemma softmax_inverse_temperatures n z b b' a :
  (0 < n)%nat -> (a < n)%nat ->
  softmax n (fun c => b' * z c) a
  = softmax n (fun c => b * z c) a * exp ((b' - b) * z a)
    / mean n (softmax n (fun c => b * z c)) (fun c => exp ((b' - b) * z c)).
Proof.
  intros some inside.
  rewrite <- (softmax_tilted n (fun c => b * z c) (fun c => (b' - b) * z c) some a).
  apply softmax_ext; [intros; ring|assumption].
Qed.

Lemma softmax_tempered n T z a :
  (a < n)%nat -> softmax n (tempered T z) a = softmax n (fun c => / T * z c) a.
Proof. intros inside; apply softmax_ext; [intros; unfold tempered, Rdiv; ring|assumption]. Qed.

Lemma mean_softmax_ext n z y f :
  (forall a, (a < n)%nat -> z a = y a) -> mean n (softmax n z) f = mean n (softmax n y) f.
Proof.
  intros same; apply sum_ext; intros a inside; rewrite (softmax_ext n z y a same inside); reflexivity.
Qed.

(** The mean of the logits falls as the temperature rises. *)
Lemma mean_logit_inverse_temperature n z b b' :
  (0 < n)%nat -> b <= b' ->
  mean n (softmax n (fun c => b * z c)) z <= mean n (softmax n (fun c => b' * z c)) z.
Proof.
  intros some below.
  rewrite (mean_softmax_ext n (fun c => b' * z c) (fun c => b * z c + (b' - b) * z c))
    by (intros; ring).
  apply (mean_tilted_ge n (fun c => b * z c) (fun c => (b' - b) * z c) some z).
  intros a a' _ _.
  replace (((b' - b) * z a - (b' - b) * z a') * (z a - z a'))
    with ((b' - b) * ((z a - z a') * (z a - z a'))) by ring.
  apply Rmult_le_pos; [lra|apply Rle_0_sqr].
Qed.

Lemma mean_tempered_logit_le n z T T' :
  (0 < n)%nat -> 0 < T -> T <= T' ->
  mean n (softmax n (tempered T' z)) z <= mean n (softmax n (tempered T z)) z.
Proof.
  intros some positive above.
  rewrite (mean_softmax_ext n (tempered T' z) (fun c => / T' * z c))
    by (intros; unfold tempered, Rdiv; ring).
  rewrite (mean_softmax_ext n (tempered T z) (fun c => / T * z c))
    by (intros; unfold tempered, Rdiv; ring).
  apply mean_logit_inverse_temperature; [assumption|].
  apply Rinv_le_contravar; assumption.
Qed.
