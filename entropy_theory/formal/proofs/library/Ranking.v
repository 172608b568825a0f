(** The likeliest action, and the likeliest tokens without a fraction of them. *)

From Coq Require Import Reals Lra Lia List Bool PeanoNat.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Masks.
Open Scope R_scope.

Lemma likeliest_spec n z :
  (0 < n)%nat -> (likeliest n z < n)%nat /\ forall b, (b < n)%nat -> z b <= z (likeliest n z).
Proof.
  induction n as [|k IH]; intros some; [lia|cbn [likeliest]].
  destruct (Nat.eq_dec k 0) as [single|several].
  - subst k; cbn [likeliest]; destruct (less (z 0%nat) (z 0%nat)); split; try lia;
      intros b inside; replace b with 0%nat by lia; lra.
  - destruct IH as [inside top]; [lia|].
    destruct (less (z (likeliest k z)) (z k)) eqn:higher.
    + apply is_less in higher; split; [lia|]; intros b b_inside.
      destruct (Nat.eq_dec b k) as [->|other]; [lra|].
      specialize (top b ltac:(lia)); lra.
    + apply is_not_less in higher; split; [lia|]; intros b b_inside.
      destruct (Nat.eq_dec b k) as [->|other]; [exact higher|apply top; lia].
Qed.

Lemma is_equal x y : equal x y = true <-> x = y.
Proof. unfold equal; destruct (Req_EM_T x y); split; intros given; congruence. Qed.

Section Ranks.

Variables (n : nat) (z : vector) (removed : R).

(** Whether b comes before a. *)
Let before (b a : nat) : bool := orb (less (z a) (z b)) (andb (equal (z b) (z a)) (Nat.ltb b a)).
Let rank (a : nat) : R := count_on n (fun b => before b a).

Lemma before_spec b a : before b a = true <-> z a < z b \/ (z b = z a /\ (b < a)%nat).
Proof.
  unfold before; rewrite orb_true_iff, andb_true_iff, is_less, is_equal, Nat.ltb_lt; reflexivity.
Qed.

Lemma kept_spec a : kept_tokens n z removed a = true <-> rank a < INR n - IZR (Int_part (removed * INR n)).
Proof. unfold kept_tokens; apply is_less. Qed.

(** A removed token is no likelier than a kept one. *)
Lemma kept_is_top a b :
  kept_tokens n z removed a = true -> kept_tokens n z removed b = false -> z b <= z a.
Proof.
  intros a_kept b_removed; apply kept_spec in a_kept; apply is_not_less in b_removed.
  destruct (Rle_dec (z b) (z a)) as [|likelier]; [assumption|exfalso].
  enough (rank b <= rank a) by (unfold rank, before in *; lra).
  apply sum_le; intros c _; unfold only.
  destruct (before c b) eqn:first.
  - replace (before c a) with true; [lra|symmetry].
    apply before_spec; apply before_spec in first; left; destruct first as [|[]]; lra.
  - destruct (before c a); lra.
Qed.

(** Some token comes first. *)
Lemma first_token m : (0 < m)%nat -> exists a, (a < m)%nat /\ forall b, (b < m)%nat -> before b a = false.
Proof.
  induction m as [|k IH]; intros some; [lia|].
  assert (itself : forall a, before a a = false).
  { intros a; destruct (before a a) eqn:first; [|reflexivity].
    apply before_spec in first as [|[_ order]]; [lra|lia]. }
  destruct (Nat.eq_dec k 0) as [single|several].
  - exists 0%nat; split; [lia|]; intros b inside; replace b with 0%nat by lia; apply itself.
  - destruct IH as [a [inside first]]; [lia|].
    destruct (Rlt_dec (z a) (z k)) as [higher|lower].
    + exists k; split; [lia|]; intros b b_inside.
      destruct (Nat.eq_dec b k) as [->|other]; [apply itself|].
      destruct (before b k) eqn:wrong; [exfalso|reflexivity].
      specialize (first b ltac:(lia)).
      assert (before b a = true); [|congruence].
      apply before_spec; apply before_spec in wrong; left; destruct wrong as [|[]]; lra.
    + exists a; split; [lia|]; intros b b_inside.
      destruct (Nat.eq_dec b k) as [->|other]; [|apply first; lia].
      destruct (before k a) eqn:wrong; [exfalso|reflexivity].
      apply before_spec in wrong as [|[_ order]]; [lra|lia].
Qed.

Lemma some_kept : (0 < n)%nat -> removed < 1 -> nonempty n (kept_tokens n z removed).
Proof.
  intros some small; destruct (first_token n some) as [a [inside first]].
  exists a; split; [exact inside|]; apply kept_spec.
  assert (rank a = 0) as zero.
  { unfold rank, count_on, total_on; rewrite <- (sum_zero n); apply sum_ext; intros b b_inside.
    unfold only; rewrite first by exact b_inside; reflexivity. }
  rewrite zero; destruct (base_Int_part (removed * INR n)) as [below _].
  assert (0 < INR n) by (apply lt_0_INR, some).
  assert (removed * INR n < 1 * INR n) by (apply Rmult_lt_compat_r; assumption).
  lra.
Qed.

End Ranks.
