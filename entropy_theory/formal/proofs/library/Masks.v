(** Sums, counts, largest and smallest values over a set of actions, such as the right answers. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

(** * Sums over a set *)

Lemma only_in A f a : A a = true -> only A f a = f a.
Proof. unfold only; intros ->; reflexivity. Qed.

Lemma only_out A f a : A a = false -> only A f a = 0.
Proof. unfold only; intros ->; reflexivity. Qed.

Lemma total_on_ext n A f g :
  (forall a, (a < n)%nat -> A a = true -> f a = g a) -> total_on n A f = total_on n A g.
Proof.
  intros same; apply sum_ext; intros a inside; unfold only.
  destruct (A a) eqn:chosen; auto.
Qed.

Lemma total_on_plus n A f g :
  total_on n A (fun a => f a + g a) = total_on n A f + total_on n A g.
Proof.
  unfold total_on; rewrite <- sum_plus; apply sum_ext; intros; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_minus n A f g :
  total_on n A (fun a => f a - g a) = total_on n A f - total_on n A g.
Proof.
  unfold total_on; rewrite <- sum_minus; apply sum_ext; intros; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_opp n A f : total_on n A (fun a => - f a) = - total_on n A f.
Proof.
  unfold total_on; rewrite <- sum_opp; apply sum_ext; intros; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_scal n A c f : total_on n A (fun a => c * f a) = c * total_on n A f.
Proof.
  unfold total_on; rewrite <- sum_scal; apply sum_ext; intros; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_scal_r n A c f : total_on n A (fun a => f a * c) = total_on n A f * c.
Proof.
  unfold total_on; rewrite <- sum_scal_r; apply sum_ext; intros; unfold only; destruct (A a); ring.
Qed.

Lemma total_on_div n A c f : total_on n A (fun a => f a / c) = total_on n A f / c.
Proof. unfold Rdiv; apply total_on_scal_r. Qed.

Lemma total_on_const n A c : total_on n A (fun _ => c) = count_on n A * c.
Proof.
  unfold count_on; rewrite <- total_on_scal_r; apply total_on_ext; intros; ring.
Qed.

Lemma total_on_le n A f g :
  (forall a, (a < n)%nat -> A a = true -> f a <= g a) -> total_on n A f <= total_on n A g.
Proof.
  intros below; apply sum_le; intros a inside; unfold only.
  destruct (A a) eqn:chosen; [auto|lra].
Qed.

Lemma total_on_nonneg n A f :
  (forall a, (a < n)%nat -> A a = true -> 0 <= f a) -> 0 <= total_on n A f.
Proof.
  intros nonneg; apply sum_nonneg; intros a inside; unfold only.
  destruct (A a) eqn:chosen; [auto|lra].
Qed.

Lemma total_on_ge_term n A f k :
  (forall a, (a < n)%nat -> A a = true -> 0 <= f a) -> (k < n)%nat -> A k = true ->
  f k <= total_on n A f.
Proof.
  intros nonneg inside chosen; rewrite <- (only_in A f k chosen).
  apply sum_ge_term; [|assumption]; intros a a_inside; unfold only.
  destruct (A a) eqn:a_chosen; [auto|lra].
Qed.

Lemma total_on_pos n A f :
  nonempty n A -> (forall a, (a < n)%nat -> A a = true -> 0 < f a) -> 0 < total_on n A f.
Proof.
  intros (k & inside & chosen) positive.
  apply Rlt_le_trans with (f k); [auto|].
  apply total_on_ge_term; auto; intros; apply Rlt_le; auto.
Qed.

Lemma total_on_lt n A f g k :
  (forall a, (a < n)%nat -> A a = true -> f a <= g a) ->
  (k < n)%nat -> A k = true -> f k < g k -> total_on n A f < total_on n A g.
Proof.
  intros below inside chosen strict; apply sum_lt with k; [|assumption|].
  - intros a a_inside; unfold only; destruct (A a) eqn:a_chosen; [auto|lra].
  - rewrite !only_in; assumption.
Qed.

Lemma total_on_complement n A f : total_on n A f + total_on n (complement A) f = sum n f.
Proof.
  unfold total_on; rewrite <- sum_plus; apply sum_ext; intros; unfold only, complement.
  destruct (A a); simpl; ring.
Qed.

Lemma total_on_everything n A f : everything n A -> total_on n A f = sum n f.
Proof. intros all; apply sum_ext; intros; apply only_in, all; assumption. Qed.

Lemma complement_true A a : complement A a = true <-> A a = false.
Proof. unfold complement; destruct (A a); simpl; split; congruence. Qed.

Lemma complement_involutive A a : complement (complement A) a = A a.
Proof. unfold complement; apply negb_involutive. Qed.

Lemma some_wrong n A : ~ everything n A -> nonempty n (complement A).
Proof.
  intros not_all.
  destruct (some_on n (complement A)) eqn:found.
  - clear not_all; induction n as [|k IH]; simpl in found; [discriminate|].
    destruct (some_on k (complement A)) eqn:before.
    + destruct (IH eq_refl) as (a & inside & chosen); exists a; auto with arith.
    + exists k; auto with arith.
  - exfalso; apply not_all; clear not_all; induction n as [|k IH]; intros a inside; [lia|].
    simpl in found; apply orb_false_elim in found; destruct found as [before last].
    destruct (Nat.eq_dec a k) as [->|other].
    + unfold complement in last; destruct (A k); [reflexivity|discriminate].
    + apply IH; [assumption|lia].
Qed.

Lemma total_on_zero n A : total_on n A (fun _ => 0) = 0.
Proof.
  apply eq_trans with (sum n (fun _ => 0)); [|apply sum_zero].
  apply sum_ext; intros a _; unfold only; destruct (A a); reflexivity.
Qed.

Lemma total_on_pos_term n A f k :
  (forall a, (a < n)%nat -> A a = true -> 0 <= f a) ->
  (k < n)%nat -> A k = true -> 0 < f k -> 0 < total_on n A f.
Proof.
  intros nonneg inside correct positive; rewrite <- (total_on_zero n A).
  apply (total_on_lt n A _ _ k); assumption.
Qed.

Lemma total_on_same_set n A B f :
  (forall a, (a < n)%nat -> A a = B a) -> total_on n A f = total_on n B f.
Proof. intros same; apply sum_ext; intros a inside; unfold only; rewrite same; auto. Qed.

(** A sum over the set that weighs by p is an expectation of what is zero elsewhere. *)
Lemma total_on_weighted n A p f : total_on n A (fun a => p a * f a) = mean n p (only A f).
Proof. apply sum_ext; intros a _; unfold only; destruct (A a); ring. Qed.

(** A positive sum has a positive term. *)
Lemma total_on_pos_exists n A f :
  0 < total_on n A f -> exists a, (a < n)%nat /\ A a = true /\ 0 < f a.
Proof.
  unfold total_on; induction n as [|k IH]; simpl; intros positive; [lra|].
  destruct (Rlt_or_le 0 (only A f k)) as [last|not_last].
  - exists k; unfold only in last; destruct (A k) eqn:correct; [auto with arith|lra].
  - destruct IH as (a & inside & correct & a_positive); [lra|].
    exists a; auto with arith.
Qed.

Lemma total_on_neg_exists n A f :
  total_on n A f < 0 -> exists a, (a < n)%nat /\ A a = true /\ f a < 0.
Proof.
  intros negative; destruct (total_on_pos_exists n A (fun a => - f a)) as (a & inside & correct & less_a).
  - rewrite total_on_opp; lra.
  - exists a; repeat split; [assumption|assumption|lra].
Qed.

(** * Two sets *)

Definition both (A B : mask) : mask := fun a => A a && B a.

Lemma in_both A B a : both A B a = true <-> A a = true /\ B a = true.
Proof. unfold both; apply andb_true_iff. Qed.

Lemma total_on_both n A B f :
  total_on n A f = total_on n (both A B) f + total_on n (both A (complement B)) f.
Proof.
  unfold total_on; rewrite <- sum_plus; apply sum_ext; intros a _; unfold only, both, complement.
  destruct (A a), (B a); simpl; ring.
Qed.

Lemma total_on_both_comm n A B f : total_on n (both A B) f = total_on n (both B A) f.
Proof. apply total_on_same_set; intros a _; unfold both; apply andb_comm. Qed.

(** * How many *)

Lemma count_on_ge_1 n A : nonempty n A -> 1 <= count_on n A.
Proof.
  intros (k & inside & chosen).
  apply (total_on_ge_term n A (fun _ => 1) k); auto; intros; lra.
Qed.

Lemma count_on_pos n A : nonempty n A -> 0 < count_on n A.
Proof. intros some; pose proof (count_on_ge_1 n A some); lra. Qed.

Lemma count_on_complement n A : count_on n A + count_on n (complement A) = INR n.
Proof. unfold count_on; rewrite total_on_complement, sum_const; ring. Qed.

Lemma count_on_nonneg n A : 0 <= count_on n A.
Proof. apply total_on_nonneg; intros; lra. Qed.

Lemma count_on_at_most n A : count_on n A <= INR n.
Proof.
  rewrite <- (Rmult_1_r (INR n)), <- sum_const; apply sum_le; intros a _; unfold only.
  destruct (A a); lra.
Qed.

Lemma nonempty_inhabited n A : nonempty n A -> (0 < n)%nat.
Proof. intros (a & inside & _); lia. Qed.

(** * Largest and smallest values *)

Lemma some_on_spec n A : some_on n A = true <-> nonempty n A.
Proof.
  induction n as [|k IH]; simpl.
  - split; [discriminate|intros (a & inside & _); lia].
  - rewrite orb_true_iff, IH; split.
    + intros [(a & inside & chosen)|chosen]; [exists a|exists k]; auto with arith.
    + intros (a & inside & chosen); destruct (Nat.eq_dec a k) as [->|other]; [auto|].
      left; exists a; split; [lia|assumption].
Qed.

Lemma some_on_empty n A : some_on n A = false -> forall a, (a < n)%nat -> A a = false.
Proof.
  intros none a inside; destruct (A a) eqn:correct; [|reflexivity].
  assert (some_on n A = true) as some by (apply some_on_spec; exists a; auto).
  congruence.
Qed.

Lemma largest_on_ge n A f a : (a < n)%nat -> A a = true -> f a <= largest_on n A f.
Proof.
  induction n as [|k IH]; intros inside chosen; [lia|]; simpl.
  destruct (Nat.eq_dec a k) as [->|other].
  - rewrite chosen; destruct (some_on k A); [apply Rmax_r|lra].
  - assert (a < k)%nat as before by lia.
    assert (some_on k A = true) as found by (apply some_on_spec; exists a; auto).
    rewrite found; specialize (IH before chosen).
    destruct (A k); [|assumption].
    apply Rle_trans with (1 := IH), Rmax_l.
Qed.

Lemma largest_on_attained n A f :
  nonempty n A -> exists a, (a < n)%nat /\ A a = true /\ largest_on n A f = f a.
Proof.
  induction n as [|k IH]; intros some; [destruct some as (a & inside & _); lia|]; simpl.
  destruct (some_on k A) eqn:found.
  - destruct (IH (proj1 (some_on_spec k A) found)) as (a & inside & chosen & same).
    destruct (A k) eqn:last; [|exists a; auto with arith].
    unfold Rmax; destruct (Rle_dec (largest_on k A f) (f k)); [exists k|exists a]; auto with arith.
  - assert (A k = true) as last.
    { destruct some as (a & inside & chosen).
      destruct (Nat.eq_dec a k) as [->|other]; [assumption|].
      assert (some_on k A = true) by (apply some_on_spec; exists a; split; [lia|assumption]).
      congruence. }
    rewrite last; exists k; auto with arith.
Qed.

Lemma largest_on_le n A f c :
  nonempty n A -> (forall a, (a < n)%nat -> A a = true -> f a <= c) -> largest_on n A f <= c.
Proof.
  intros some below; destruct (largest_on_attained n A f some) as (a & inside & chosen & ->); auto.
Qed.

Lemma largest_on_mono n A f g :
  nonempty n A -> (forall a, (a < n)%nat -> A a = true -> f a <= g a) ->
  largest_on n A f <= largest_on n A g.
Proof.
  intros some below; apply largest_on_le; [assumption|]; intros a inside chosen.
  apply Rle_trans with (g a); [auto|apply largest_on_ge; assumption].
Qed.

Lemma largest_on_eq n A f c a :
  (a < n)%nat -> A a = true -> f a = c ->
  (forall b, (b < n)%nat -> A b = true -> f b <= c) -> largest_on n A f = c.
Proof.
  intros inside chosen attained below; apply Rle_antisym.
  - apply largest_on_le; [exists a; auto|assumption].
  - rewrite <- attained; apply largest_on_ge; assumption.
Qed.

Lemma largest_on_div n A f c :
  nonempty n A -> 0 < c -> largest_on n A (fun a => f a / c) = largest_on n A f / c.
Proof.
  intros some positive; destruct (largest_on_attained n A f some) as (a & inside & chosen & same).
  apply largest_on_eq with a; [assumption|assumption|rewrite same; reflexivity|].
  intros b b_inside b_chosen; unfold Rdiv; apply Rmult_le_compat_r.
  - apply Rlt_le, Rinv_0_lt_compat, positive.
  - apply largest_on_ge; assumption.
Qed.

Lemma smallest_on_le n A f a : (a < n)%nat -> A a = true -> smallest_on n A f <= f a.
Proof.
  intros inside chosen; unfold smallest_on.
  pose proof (largest_on_ge n A (fun b => - f b) a inside chosen) as below; simpl in below; lra.
Qed.

Lemma smallest_on_attained n A f :
  nonempty n A -> exists a, (a < n)%nat /\ A a = true /\ smallest_on n A f = f a.
Proof.
  intros some; unfold smallest_on.
  destruct (largest_on_attained n A (fun b => - f b) some) as (a & inside & chosen & ->).
  exists a; repeat split; [assumption|assumption|ring].
Qed.

Lemma smallest_on_ge n A f c :
  nonempty n A -> (forall a, (a < n)%nat -> A a = true -> c <= f a) -> c <= smallest_on n A f.
Proof.
  intros some above; destruct (smallest_on_attained n A f some) as (a & inside & chosen & ->); auto.
Qed.

Lemma smallest_on_eq n A f c a :
  (a < n)%nat -> A a = true -> f a = c ->
  (forall b, (b < n)%nat -> A b = true -> c <= f b) -> smallest_on n A f = c.
Proof.
  intros inside chosen attained above; apply Rle_antisym.
  - rewrite <- attained; apply smallest_on_le; assumption.
  - apply smallest_on_ge; [exists a; auto|assumption].
Qed.

Lemma all_nonempty n : (0 < n)%nat -> nonempty n (fun _ => true).
Proof. intros some; exists 0%nat; auto. Qed.

Lemma largest_ge n f a : (a < n)%nat -> f a <= largest n f.
Proof. intros inside; apply largest_on_ge; auto. Qed.

Lemma largest_attained n f : (0 < n)%nat -> exists a, (a < n)%nat /\ largest n f = f a.
Proof.
  intros some; destruct (largest_on_attained n (fun _ => true) f (all_nonempty n some))
    as (a & inside & _ & same); exists a; auto.
Qed.

Lemma smallest_le n f a : (a < n)%nat -> smallest n f <= f a.
Proof. intros inside; apply smallest_on_le; auto. Qed.

Lemma smallest_attained n f : (0 < n)%nat -> exists a, (a < n)%nat /\ smallest n f = f a.
Proof.
  intros some; destruct (smallest_on_attained n (fun _ => true) f (all_nonempty n some))
    as (a & inside & _ & same); exists a; auto.
Qed.

(** * Means lie between the extremes *)

Lemma total_on_ge_count n A f c :
  (forall a, (a < n)%nat -> A a = true -> c <= f a) -> count_on n A * c <= total_on n A f.
Proof. intros above; rewrite <- total_on_const; apply total_on_le; assumption. Qed.

Lemma total_on_le_count n A f c :
  (forall a, (a < n)%nat -> A a = true -> f a <= c) -> total_on n A f <= count_on n A * c.
Proof. intros below; rewrite <- total_on_const; apply total_on_le; assumption. Qed.

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
