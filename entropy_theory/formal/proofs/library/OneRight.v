(** Sets with one action: sums over them, and over the others. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks.
Open Scope R_scope.

(** A set with something in it that has fewer than two actions has one. *)
Lemma one_of_count n A :
  nonempty n A -> count_on n A < 2 ->
  exists r, (r < n)%nat /\ A r = true /\ forall a, (a < n)%nat -> a <> r -> A a = false.
Proof.
  intros (r & r_inside & r_chosen) few; exists r; repeat split; [assumption|assumption|].
  intros a inside other; destruct (A a) eqn:chosen; [exfalso|reflexivity].
  set (f := fun b => 1 * (if Nat.eqb b r then 1 else 0) + 1 * (if Nat.eqb b a then 1 else 0)).
  assert (sum n f = 2) as two.
  { unfold f; rewrite sum_plus.
    rewrite (sum_single n r (fun _ => 1)), (sum_single n a (fun _ => 1)) by assumption; ring. }
  assert (sum n f <= count_on n A); [|lra].
  apply sum_le; intros b _; unfold f, only.
  destruct (Nat.eqb_spec b r) as [at_r|]; destruct (Nat.eqb_spec b a) as [at_a|].
  - exfalso; congruence.
  - rewrite at_r, r_chosen; lra.
  - rewrite at_a, chosen; lra.
  - destruct (A b); lra.
Qed.

Section OneRight.

Variables (n : nat) (A : mask) (r : nat).
Hypothesis inside : (r < n)%nat.
Hypothesis chosen : A r = true.
Hypothesis alone : forall a, (a < n)%nat -> a <> r -> A a = false.

Lemma is_right a : (a < n)%nat -> A a = Nat.eqb a r.
Proof. intros a_inside; destruct (Nat.eqb_spec a r) as [->|other]; [exact chosen|apply alone; assumption]. Qed.

Lemma total_on_one f : total_on n A f = f r.
Proof.
  unfold total_on; rewrite <- (sum_single n r f inside); apply sum_ext; intros a a_inside; unfold only.
  rewrite is_right by assumption; destruct (Nat.eqb a r); ring.
Qed.

Lemma count_on_one : count_on n A = 1.
Proof. unfold count_on; apply (total_on_one (fun _ => 1)). Qed.

(** A sum is its term of that action and the sum over the others. *)
Lemma sum_apart f : sum n f = f r + total_on n (fun a => negb (A a)) f.
Proof.
  rewrite <- (total_on_one f); unfold total_on; rewrite <- sum_plus; apply sum_ext; intros a _; unfold only.
  destruct (A a); simpl; ring.
Qed.

End OneRight.
