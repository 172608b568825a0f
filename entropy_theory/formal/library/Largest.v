(** The largest and the smallest value on a set of actions: they bound all of its values, and they are values. *)

From Coq Require Import Reals Lra Lia Bool.
From PolicyEntropy.library Require Import Definitions Basics.
Open Scope R_scope.

Lemma some_on_nonempty n A : some_on n A = true <-> nonempty n A.
Proof.
  induction n as [|k IH]; simpl.
  - split; [discriminate|intros [a [inside _]]; lia].
  - rewrite orb_true_iff, IH; split.
    + intros [[a [inside correct]]|correct].
      * exists a; split; [lia|assumption].
      * exists k; split; [lia|assumption].
    + intros [a [inside correct]].
      destruct (Nat.eq_dec a k) as [->|other]; [right; assumption|].
      left; exists a; split; [lia|assumption].
Qed.

Lemma some_on_empty n A : some_on n A = false -> forall a, (a < n)%nat -> A a = false.
Proof.
  intros none a inside; destruct (A a) eqn:correct; [|reflexivity].
  assert (some_on n A = true) as some by (apply some_on_nonempty; exists a; auto).
  congruence.
Qed.

Lemma largest_on_ge n A f a : (a < n)%nat -> A a = true -> f a <= largest_on n A f.
Proof.
  induction n as [|k IH]; simpl; intros inside correct; [lia|].
  destruct (Nat.eq_dec a k) as [->|other].
  - rewrite correct; destruct (some_on k A); [apply Rmax_r|lra].
  - assert (f a <= largest_on k A f) as below by (apply IH; [lia|assumption]).
    destruct (A k); [|assumption].
    destruct (some_on k A) eqn:some.
    + pose proof (Rmax_l (largest_on k A f) (f k)); lra.
    + rewrite (some_on_empty k A some a) in correct by lia; discriminate.
Qed.

Lemma largest_on_attained n A f :
  nonempty n A -> exists a, (a < n)%nat /\ A a = true /\ largest_on n A f = f a.
Proof.
  induction n as [|k IH]; simpl; intros some; [destruct some as [a [inside _]]; lia|].
  destruct (some_on k A) eqn:before.
  - destruct IH as (a & inside & correct & is_a); [apply some_on_nonempty, before|].
    destruct (A k) eqn:last.
    + destruct (Rmax_case_strong (largest_on k A f) (f k)
                  (fun m => m = f a \/ m = f k)) as [at_a|at_k]; [auto|auto|..].
      * exists a; auto with arith.
      * exists k; auto with arith.
    + exists a; auto with arith.
  - destruct (A k) eqn:last; [exists k; auto with arith|].
    destruct some as [a [inside correct]].
    destruct (Nat.eq_dec a k) as [->|other]; [congruence|].
    rewrite (some_on_empty k A before a) in correct by lia; discriminate.
Qed.

Lemma largest_on_le n A f bound :
  nonempty n A -> (forall a, (a < n)%nat -> A a = true -> f a <= bound) ->
  largest_on n A f <= bound.
Proof.
  intros some below; destruct (largest_on_attained n A f some) as (a & inside & correct & ->).
  apply below; assumption.
Qed.

Lemma smallest_on_le n A f a : (a < n)%nat -> A a = true -> smallest_on n A f <= f a.
Proof.
  intros inside correct; unfold smallest_on.
  pose proof (largest_on_ge n A (fun b => - f b) a inside correct) as above; simpl in above; lra.
Qed.

Lemma smallest_on_attained n A f :
  nonempty n A -> exists a, (a < n)%nat /\ A a = true /\ smallest_on n A f = f a.
Proof.
  intros some; destruct (largest_on_attained n A (fun b => - f b) some) as (a & inside & correct & is_a).
  exists a; unfold smallest_on; rewrite is_a; repeat split; [assumption|assumption|lra].
Qed.

Lemma largest_ge n f a : (a < n)%nat -> f a <= largest n f.
Proof. intros inside; apply largest_on_ge; [assumption|reflexivity]. Qed.

Lemma largest_attained n f : (0 < n)%nat -> exists a, (a < n)%nat /\ largest n f = f a.
Proof.
  intros some; destruct (largest_on_attained n (fun _ => true) f) as (a & inside & _ & is_a).
  - exists 0%nat; auto.
  - exists a; auto.
Qed.

Lemma smallest_le n f a : (a < n)%nat -> smallest n f <= f a.
Proof. intros inside; apply smallest_on_le; [assumption|reflexivity]. Qed.

Lemma smallest_attained n f : (0 < n)%nat -> exists a, (a < n)%nat /\ smallest n f = f a.
Proof.
  intros some; destruct (smallest_on_attained n (fun _ => true) f) as (a & inside & _ & is_a).
  - exists 0%nat; auto.
  - exists a; auto.
Qed.

(** A mean lies between the extremes. *)
Lemma mean_le_largest n p f :
  (forall a, (a < n)%nat -> 0 <= p a) -> sum n p = 1 -> mean n p f <= largest n f.
Proof.
  intros nonneg one; rewrite <- (mean_const n p (largest n f) one).
  apply mean_le; [assumption|intros; apply largest_ge; assumption].
Qed.

Lemma smallest_le_mean n p f :
  (forall a, (a < n)%nat -> 0 <= p a) -> sum n p = 1 -> smallest n f <= mean n p f.
Proof.
  intros nonneg one; rewrite <- (mean_const n p (smallest n f) one).
  apply mean_le; [assumption|intros; apply smallest_le; assumption].
Qed.
