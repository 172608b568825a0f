(** Sums over a set of actions. *)

From Coq Require Import Reals Lra Lia Bool.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce.
Open Scope R_scope.

Section Totals.

Variables (n : nat) (A : mask).

Lemma total_on_le f g :
  (forall a, (a < n)%nat -> A a = true -> f a <= g a) -> total_on n A f <= total_on n A g.
Proof.
  intros below; apply sum_le; intros a inside; unfold only.
  destruct (A a) eqn:correct; [apply below; assumption|lra].
Qed.

Lemma total_on_lt f g k :
  (forall a, (a < n)%nat -> A a = true -> f a <= g a) ->
  (k < n)%nat -> A k = true -> f k < g k -> total_on n A f < total_on n A g.
Proof.
  intros below inside correct strict; apply (sum_lt n _ _ k); [|assumption|].
  - intros a a_inside; unfold only; destruct (A a) eqn:a_correct; [apply below; assumption|lra].
  - unfold only; rewrite correct; exact strict.
Qed.

Lemma total_on_zero : total_on n A (fun _ => 0) = 0.
Proof.
  apply eq_trans with (sum n (fun _ => 0)); [|apply sum_zero].
  apply sum_ext; intros a _; unfold only; destruct (A a); reflexivity.
Qed.

Lemma total_on_nonneg f :
  (forall a, (a < n)%nat -> A a = true -> 0 <= f a) -> 0 <= total_on n A f.
Proof. intros nonneg; rewrite <- total_on_zero; apply total_on_le, nonneg. Qed.

Lemma total_on_pos f k :
  (forall a, (a < n)%nat -> A a = true -> 0 <= f a) ->
  (k < n)%nat -> A k = true -> 0 < f k -> 0 < total_on n A f.
Proof.
  intros nonneg inside correct positive; rewrite <- total_on_zero.
  apply (total_on_lt _ _ k); assumption.
Qed.

Lemma total_on_plus f g : total_on n A (fun a => f a + g a) = total_on n A f + total_on n A g.
Proof.
  unfold total_on; rewrite <- sum_plus; apply sum_ext; intros a _; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_minus f g : total_on n A (fun a => f a - g a) = total_on n A f - total_on n A g.
Proof.
  unfold total_on; rewrite <- sum_minus; apply sum_ext; intros a _; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_scal k f : total_on n A (fun a => k * f a) = k * total_on n A f.
Proof.
  unfold total_on; rewrite <- sum_scal; apply sum_ext; intros a _; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_opp f : total_on n A (fun a => - f a) = - total_on n A f.
Proof.
  unfold total_on; rewrite <- sum_opp; apply sum_ext; intros a _; unfold only; destruct (A a); ring.
Qed.

(** A sum over the set that weighs by p is an expectation of what is zero elsewhere. *)
Lemma total_on_weighted p f : total_on n A (fun a => p a * f a) = mean n p (only A f).
Proof. apply sum_ext; intros a _; unfold only; destruct (A a); ring. Qed.

(** A positive sum has a positive term. *)
Lemma total_on_pos_exists f :
  0 < total_on n A f -> exists a, (a < n)%nat /\ A a = true /\ 0 < f a.
Proof.
  unfold total_on; induction n as [|k IH]; simpl; intros positive; [lra|].
  destruct (Rlt_or_le 0 (only A f k)) as [last|not_last].
  - exists k; unfold only in last; destruct (A k) eqn:correct; [auto with arith|lra].
  - destruct IH as (a & inside & correct & a_positive); [lra|].
    exists a; auto with arith.
Qed.

Lemma total_on_neg_exists f :
  total_on n A f < 0 -> exists a, (a < n)%nat /\ A a = true /\ f a < 0.
Proof.
  intros negative; destruct (total_on_pos_exists (fun a => - f a)) as (a & inside & correct & less_a).
  - rewrite total_on_opp; lra.
  - exists a; repeat split; [assumption|assumption|lra].
Qed.

Lemma total_on_everything f : everything n A -> total_on n A f = sum n f.
Proof. intros all; apply sum_ext; intros a inside; unfold only; rewrite all; auto. Qed.

End Totals.
