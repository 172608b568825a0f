(** DPPO (arXiv 2602.04879): no token's probability moves by more than the total variation, which is at most n/2 times
    the largest move. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks.
From Trusted.Statements.later_work Require dppo_binary.
Open Scope R_scope.

Lemma Rabs_sum n f : Rabs (sum n f) <= sum n (fun a => Rabs (f a)).
Proof.
  induction n as [|k IH]; simpl; [rewrite Rabs_R0; lra|].
  pose proof (Rabs_triang (sum k f) (f k)); lra.
Qed.

(** What sums to zero is nowhere larger than half of its absolute sum. *)
Lemma half_of_balanced n f k : (k < n)%nat -> sum n f = 0 -> Rabs (f k) <= sum n (fun a => Rabs (f a)) / 2.
Proof.
  intros inside zero; set (rest := fun a => if Nat.eqb a k then 0 else f a).
  assert (split : forall g : vector, sum n g = sum n (fun a => if Nat.eqb a k then 0 else g a) + g k).
  { intros g; rewrite <- (sum_single n k g inside), <- sum_plus; apply sum_ext; intros a _.
    destruct (Nat.eqb a k); ring. }
  pose proof (split f) as f_split; rewrite zero in f_split.
  pose proof (split (fun a => Rabs (f a))) as abs_split; cbv beta in abs_split.
  pose proof (Rabs_sum n rest) as bound.
  rewrite (sum_ext n (fun a => Rabs (rest a)) (fun a => if Nat.eqb a k then 0 else Rabs (f a))) in bound
    by (intros a _; unfold rest; destruct (Nat.eqb a k); [apply Rabs_R0|reflexivity]).
  assert (Rabs (f k) = Rabs (sum n rest)) as same.
  { replace (f k) with (- sum n rest) by (unfold rest; lra); apply Rabs_Ropp. }
  lra.
Qed.

Theorem proved : Statements.later_work.dppo_binary.repair.
Proof.
  intros n logits drift two; assert (some : (0 < n)%nat) by lia.
  set (gap := Statements.later_work.dppo_binary.gap n logits drift).
  split.
  - change (sum n gap / 2 <= INR n / 2 * largest n gap).
    enough (sum n gap <= INR n * largest n gap) by lra.
    rewrite <- sum_const; apply sum_le; intros; apply largest_ge; assumption.
  - destruct (largest_attained n gap some) as (k & inside & ->).
    change (Rabs (softmax n logits k - softmax n (fun b => logits b - drift b) k)
            <= sum n (fun a => Rabs (softmax n logits a - softmax n (fun b => logits b - drift b) a)) / 2).
    apply (half_of_balanced n (fun a => softmax n logits a - softmax n (fun b => logits b - drift b) a));
      [exact inside|].
    rewrite sum_minus, !softmax_sum by exact some; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.dppo_binary.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.
