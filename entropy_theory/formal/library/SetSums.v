(** Sums over sets of actions. *)

From Coq Require Import Reals Lra Lia List Bool.
From PolicyEntropy.library Require Import Definitions Basics.
Open Scope R_scope.

Definition both (A B : mask) : mask := fun a => A a && B a.

Section Totals.

Variable n : nat.

Lemma total_on_ext A f g :
  (forall a, (a < n)%nat -> A a = true -> f a = g a) -> total_on n A f = total_on n A g.
Proof.
  intros same; apply sum_ext; intros a inside; unfold only.
  destruct (A a) eqn:member; [apply same; assumption|reflexivity].
Qed.

Lemma total_on_same_set A B f :
  (forall a, (a < n)%nat -> A a = B a) -> total_on n A f = total_on n B f.
Proof. intros same; apply sum_ext; intros a inside; unfold only; rewrite same; auto. Qed.

Lemma total_on_plus A f g : total_on n A (fun a => f a + g a) = total_on n A f + total_on n A g.
Proof.
  unfold total_on; rewrite <- sum_plus; apply sum_ext; intros a _; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_minus A f g : total_on n A (fun a => f a - g a) = total_on n A f - total_on n A g.
Proof.
  unfold total_on; rewrite <- sum_minus; apply sum_ext; intros a _; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_scal A c f : total_on n A (fun a => c * f a) = c * total_on n A f.
Proof.
  unfold total_on; rewrite <- sum_scal; apply sum_ext; intros a _; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_const A c : total_on n A (fun _ => c) = count_on n A * c.
Proof.
  unfold count_on, total_on; rewrite <- sum_scal_r; apply sum_ext; intros a _; unfold only.
  destruct (A a); ring.
Qed.

Lemma total_on_le A f g :
  (forall a, (a < n)%nat -> A a = true -> f a <= g a) -> total_on n A f <= total_on n A g.
Proof.
  intros below; apply sum_le; intros a inside; unfold only.
  destruct (A a) eqn:member; [apply below; assumption|lra].
Qed.

Lemma total_on_nonneg A f :
  (forall a, (a < n)%nat -> A a = true -> 0 <= f a) -> 0 <= total_on n A f.
Proof.
  intros nonneg; apply sum_nonneg; intros a inside; unfold only.
  destruct (A a) eqn:member; [apply nonneg; assumption|lra].
Qed.

Lemma total_on_split A B f :
  total_on n A f = total_on n (both A B) f + total_on n (both A (complement B)) f.
Proof.
  unfold total_on; rewrite <- sum_plus; apply sum_ext; intros a _; unfold only, both, complement.
  destruct (A a), (B a); simpl; ring.
Qed.

Lemma total_on_both_comm A B f : total_on n (both A B) f = total_on n (both B A) f.
Proof. apply total_on_same_set; intros a _; unfold both; apply andb_comm. Qed.

Lemma total_on_with_complement A f : total_on n A f + total_on n (complement A) f = sum n f.
Proof.
  unfold total_on; rewrite <- sum_plus; apply sum_ext; intros a _; unfold only, complement.
  destruct (A a); simpl; ring.
Qed.

Lemma count_on_nonneg A : 0 <= count_on n A.
Proof. apply total_on_nonneg; intros; lra. Qed.

Lemma count_on_at_most A : count_on n A <= INR n.
Proof.
  rewrite <- (Rmult_1_r (INR n)), <- sum_const; apply sum_le; intros a _; unfold only.
  destruct (A a); lra.
Qed.

Lemma count_on_least A : nonempty n A -> 1 <= count_on n A.
Proof.
  intros [k [inside member]]; unfold count_on, total_on.
  apply Rle_trans with (only A (fun _ => 1) k).
  - unfold only; rewrite member; lra.
  - apply sum_ge_term; [|exact inside]; intros a _; unfold only; destruct (A a); lra.
Qed.

Lemma count_on_with_complement A : count_on n A + count_on n (complement A) = INR n.
Proof. unfold count_on; rewrite total_on_with_complement, sum_const; ring. Qed.

End Totals.

(** Membership. *)
Lemma in_both A B a : both A B a = true <-> A a = true /\ B a = true.
Proof. unfold both; apply andb_true_iff. Qed.

Lemma in_complement A a : complement A a = true <-> A a = false.
Proof. unfold complement; apply negb_true_iff. Qed.
