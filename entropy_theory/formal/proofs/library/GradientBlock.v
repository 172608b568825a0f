(** One state's block of a policy gradient, pi_a (Q_a - V), against the entropy of the policy there:
    its positive entries add up to at most P (1 - P), P the probability of Q > V, if 0 <= Q <= 1, and
    entropy is at least 4 log 2 times that. AEnt, Proposition 1 (I), with best constants. *)

From Coq Require Import Reals Lra Lia Psatz List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities.
Open Scope R_scope.

Section Block.

Variables (n : nat) (p q : vector).
Hypothesis one : sum n p = 1.
Hypothesis nonneg : forall a, (a < n)%nat -> 0 <= p a.

Definition above_mean : mask := fun a => less (mean n p q) (q a).
Definition block : vector := fun a => p a * centered n p q a.
Definition positive_mass : R := total_on n above_mean block.

Lemma block_sum : sum n block = 0.
Proof. apply (mean_centered n p q one). Qed.

Lemma negative_mass : total_on n (complement above_mean) block = - positive_mass.
Proof.
  pose proof (total_on_split n above_mean block) as split; rewrite block_sum in split.
  unfold positive_mass; lra.
Qed.

Lemma block_sign a :
  (a < n)%nat -> if above_mean a then 0 <= block a else block a <= 0.
Proof.
  intros inside; specialize (nonneg a inside).
  unfold above_mean, less, block, centered.
  destruct (Rlt_dec (mean n p q) (q a)); nra.
Qed.

Lemma block_abs a :
  (a < n)%nat ->
  Rabs (block a) = only above_mean block a - only (complement above_mean) block a.
Proof.
  intros inside; pose proof (block_sign a inside) as sign; unfold only, complement.
  destruct (above_mean a); simpl.
  - rewrite Rabs_pos_eq by assumption; ring.
  - rewrite Rabs_left1 by assumption; ring.
Qed.

Lemma block_l1 : sum n (fun a => Rabs (block a)) = 2 * positive_mass.
Proof.
  rewrite (sum_ext _ _ _ block_abs), sum_minus.
  fold (total_on n (complement above_mean) block); rewrite negative_mass.
  fold (total_on n above_mean block); fold positive_mass; ring.
Qed.

Lemma positive_mass_nonneg : 0 <= positive_mass.
Proof.
  assert (0 <= sum n (fun a => Rabs (block a))) by (apply sum_nonneg; intros; apply Rabs_pos).
  rewrite block_l1 in *; lra.
Qed.

Lemma block_entry a : (a < n)%nat -> Rabs (block a) <= positive_mass.
Proof.
  intros inside; rewrite block_abs by assumption; pose proof (block_sign a inside) as sign.
  assert (only above_mean block a <= positive_mass) as up.
  { apply sum_ge_term; [|assumption]; intros b b_inside.
    pose proof (block_sign b b_inside); unfold only; destruct (above_mean b); lra. }
  assert (- only (complement above_mean) block a <= positive_mass) as down.
  { rewrite <- (Ropp_involutive positive_mass), <- negative_mass.
    unfold total_on; rewrite <- sum_opp.
    apply (sum_ge_term n (fun b => - only (complement above_mean) block b)); [|assumption].
    intros b b_inside; pose proof (block_sign b b_inside).
    unfold only, complement; destruct (above_mean b); simpl; lra. }
  unfold only, complement in *; destruct (above_mean a); simpl in *; lra.
Qed.

Lemma block_l2 : sum n (fun a => Rsqr (block a)) <= 2 * Rsqr positive_mass.
Proof.
  apply Rle_trans with (sum n (fun a => Rabs (block a)) * positive_mass).
  - rewrite <- sum_scal_r; apply sum_le; intros a inside.
    rewrite Rsqr_abs; apply Rmult_le_compat_l; [apply Rabs_pos|apply block_entry, inside].
  - rewrite block_l1; unfold Rsqr; lra.
Qed.

(** With 0 <= Q <= 1 the positive mass is at most that of the event times that of its complement. *)
Lemma positive_mass_le :
  (forall a, (a < n)%nat -> 0 <= q a <= 1) ->
  positive_mass <= total_on n above_mean p * (1 - total_on n above_mean p).
Proof.
  intros range; set (P := total_on n above_mean p).
  set (S := total_on n above_mean (fun a => p a * q a)).
  assert (positive_mass = S - P * mean n p q) as mass.
  { unfold positive_mass, S, P; rewrite <- total_on_scal_r; unfold total_on.
    rewrite <- sum_minus; apply sum_ext; intros; unfold only, block, centered.
    destruct (above_mean a); ring. }
  assert (S <= mean n p q) as below.
  { apply total_on_le_sum; intros a inside; specialize (nonneg a inside).
    specialize (range a inside); nra. }
  assert (S <= P) as at_most.
  { apply total_on_le; intros a inside _; specialize (nonneg a inside).
    specialize (range a inside); nra. }
  assert (0 <= S) as S_nonneg.
  { apply total_on_nonneg; intros a inside; specialize (nonneg a inside).
    specialize (range a inside); nra. }
  assert (P <= 1) by (rewrite <- one; apply total_on_le_sum, nonneg).
  rewrite mass; nra.
Qed.

End Block.

(** * Against entropy *)

Section Entropy.

Variables (n : nat) (z q : vector).
Hypothesis some : (0 < n)%nat.
Hypothesis range : forall a, (a < n)%nat -> 0 <= q a <= 1.

Theorem entropy_above_mass : 4 * ln 2 * positive_mass n (softmax n z) q <= entropy n z.
Proof.
  assert (forall a, (a < n)%nat -> 0 <= softmax n z a) as nonneg
    by (intros; apply Rlt_le, softmax_pos, some).
  pose proof (softmax_sum n z some) as one; pose proof ln_2_pos.
  set (P := total_on n (above_mean n (softmax n z) q) (softmax n z)).
  assert (0 <= P <= 1) as probability.
  { split; [apply total_on_nonneg, nonneg|].
    unfold P; rewrite <- one; apply total_on_le_sum, nonneg. }
  apply Rle_trans with (binary_entropy P); [|apply entropy_of_event, some].
  eapply Rle_trans; [|apply binary_entropy_lower, probability].
  apply Rmult_le_compat_l; [lra|apply positive_mass_le; assumption].
Qed.

End Entropy.
