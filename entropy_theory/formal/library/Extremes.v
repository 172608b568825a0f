(** The largest and the smallest value of a finite family: attained, and a bound on all. *)

From Coq Require Import Reals Lra Lia List Bool.
From PolicyEntropy.library Require Import Definitions Basics.
Open Scope R_scope.

Lemma some_on_spec n A : some_on n A = true <-> nonempty n A.
Proof.
  induction n as [|k IH]; simpl.
  - split; [discriminate|intros [a [inside _]]; lia].
  - rewrite orb_true_iff, IH; split.
    + intros [[a [inside member]]|last]; [exists a; split; [lia|assumption]|].
      exists k; split; [lia|assumption].
    + intros [a [inside member]]; destruct (Nat.eq_dec a k) as [same|other].
      * right; subst a; assumption.
      * left; exists a; split; [lia|assumption].
Qed.

Lemma largest_on_above n A f a : (a < n)%nat -> A a = true -> f a <= largest_on n A f.
Proof.
  induction n as [|k IH]; intros inside member; [lia|simpl].
  destruct (Nat.eq_dec a k) as [same|other].
  - subst k; rewrite member; destruct (some_on a A); [apply Rmax_r|lra].
  - assert (some_on k A = true) as earlier by (apply some_on_spec; exists a; split; [lia|assumption]).
    assert (f a <= largest_on k A f) by (apply IH; [lia|assumption]).
    rewrite earlier; destruct (A k); [|assumption].
    apply Rle_trans with (largest_on k A f); [assumption|apply Rmax_l].
Qed.

Lemma largest_on_attained n A f :
  nonempty n A -> exists a, (a < n)%nat /\ A a = true /\ largest_on n A f = f a.
Proof.
  induction n as [|k IH]; intros some; [destruct some as [a [inside _]]; lia|simpl].
  destruct (some_on k A) eqn:earlier.
  - destruct IH as [a [inside [member attained]]]; [apply some_on_spec, earlier|].
    destruct (A k) eqn:last.
    + rewrite attained; destruct (Rle_dec (f a) (f k)) as [below|above].
      * exists k; rewrite Rmax_right by assumption; auto.
      * exists a; rewrite Rmax_left by lra; auto.
    + exists a; auto.
  - assert (A k = true) as last.
    { destruct some as [a [inside member]].
      destruct (Nat.eq_dec a k) as [same|other]; [subst a; assumption|].
      assert (some_on k A = true) by (apply some_on_spec; exists a; split; [lia|assumption]).
      congruence. }
    rewrite last; exists k; auto.
Qed.

Lemma smallest_on_below n A f a : (a < n)%nat -> A a = true -> smallest_on n A f <= f a.
Proof.
  intros inside member; unfold smallest_on.
  pose proof (largest_on_above n A (fun b => - f b) a inside member) as above; simpl in above; lra.
Qed.

Lemma smallest_on_attained n A f :
  nonempty n A -> exists a, (a < n)%nat /\ A a = true /\ smallest_on n A f = f a.
Proof.
  intros some; unfold smallest_on.
  destruct (largest_on_attained n A (fun b => - f b) some) as [a [inside [member attained]]].
  exists a; rewrite attained; repeat split; try assumption; ring.
Qed.

Section AllActions.

Variables (n : nat) (f : vector).

Lemma largest_above a : (a < n)%nat -> f a <= largest n f.
Proof. intros inside; apply largest_on_above; auto. Qed.

Lemma smallest_below a : (a < n)%nat -> smallest n f <= f a.
Proof. intros inside; apply smallest_on_below; auto. Qed.

Hypothesis some : (0 < n)%nat.

Lemma largest_attained : exists a, (a < n)%nat /\ largest n f = f a.
Proof.
  destruct (largest_on_attained n (fun _ => true) f) as [a [inside [_ attained]]].
  - exists 0%nat; auto.
  - exists a; auto.
Qed.

Lemma smallest_attained : exists a, (a < n)%nat /\ smallest n f = f a.
Proof.
  destruct (smallest_on_attained n (fun _ => true) f) as [a [inside [_ attained]]].
  - exists 0%nat; auto.
  - exists a; auto.
Qed.

End AllActions.
