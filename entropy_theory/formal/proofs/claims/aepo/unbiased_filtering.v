(** AEPO, Section 4.2: with one right answer the expected step on positive tempered samples is a multiple of the
    policy gradient. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Examples.
From Trusted.Statements.aepo Require unbiased_filtering.
Open Scope R_scope.

(** Two different members count two. *)
Lemma two_members n (A : mask) a b :
  (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> a <> b -> 2 <= total_on n A (fun _ => 1).
Proof.
  intros a_inside b_inside a_right b_right other.
  assert (forall c, only A (fun _ => 1) c >= (if Nat.eqb c a then 1 else 0) + (if Nat.eqb c b then 1 else 0)) as above.
  { intros c; unfold only; destruct (Nat.eqb_spec c a), (Nat.eqb_spec c b); subst; try congruence;
      try rewrite a_right; try rewrite b_right; try destruct (A c); lra. }
  assert (forall m k, (k < m)%nat -> sum m (fun c => if Nat.eqb c k then 1 else 0) = 1) as one.
  { assert (forall m k, (m <= k)%nat -> sum m (fun c => if Nat.eqb c k then 1 else 0) = 0) as none.
    { induction m; intros k below; simpl; [reflexivity|].
      rewrite IHm by lia; destruct (Nat.eqb_spec m k); [lia|ring]. }
    induction m; intros k inside; [lia|simpl].
    destruct (Nat.eqb_spec m k); [subst; rewrite none by lia; ring|rewrite IHm by lia; ring]. }
  unfold total_on; apply Rle_trans with (sum n (fun c => (if Nat.eqb c a then 1 else 0) + (if Nat.eqb c b then 1 else 0))).
  - rewrite sum_plus, !one by assumption; lra.
  - apply sum_le; intros c _; specialize (above c); lra.
Qed.

(** A sum over a set with one member. *)
Lemma total_of_one n (A : mask) (f : vector) a :
  (a < n)%nat -> A a = true -> total_on n A (fun _ => 1) <= 1 -> total_on n A f = f a.
Proof.
  intros inside right few.
  rewrite <- (total_on_single n a f inside); apply sum_ext; intros b b_inside; unfold only, single.
  destruct (Nat.eqb_spec b a) as [->|other]; [rewrite right; reflexivity|].
  destruct (A b) eqn:also; [|reflexivity].
  pose proof (two_members n A a b inside b_inside right also ltac:(congruence)); lra.
Qed.

Theorem proved : Statements.aepo.unbiased_filtering.repair.
Proof.
  intros n logits correct temperature two some positive few a inside.
  destruct some as (k & k_inside & right).
  unfold Statements.aepo.unbiased_filtering.unit_step, Statements.aepo.unbiased_filtering.unit_step_without_temperature.
  rewrite !(total_of_one n correct _ k k_inside right few).
  destruct (correct a) eqn:also; [|ring].
  assert (a = k) as ->; [|ring].
  destruct (Nat.eq_dec a k) as [same|other]; [exact same|exfalso].
  pose proof (two_members n correct a k inside k_inside also right other); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.unbiased_filtering.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2; witnessed. Qed.

Theorem defined : Statements.aepo.unbiased_filtering.defined.
Proof. domains. Qed.
