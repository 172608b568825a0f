(** Entrocraft (arXiv 2604.26326), the sign rule: training on positive samples only and on negative samples only
    have the same expected step, so that one cannot lower entropy and the other raise it. If every correct action
    is at least as likely as every wrong one, both lower entropy at first order; if at most as likely, both raise
    it. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Contributions Masks.
From PolicyEntropy.library Require Masks.
From Trusted.Statements.later_work Require entrocraft.
Open Scope R_scope.

(** The expected steps, per unit learning rate and unit score. *)
Definition positives_only (n : nat) (z : vector) (correct : mask) : vector := fun a =>
  only correct (softmax n z) a - total_on n correct (softmax n z) * softmax n z a.
Definition negatives_only (n : nat) (z : vector) (correct : mask) : vector := fun a =>
  - (only (complement correct) (softmax n z) a
     - total_on n (complement correct) (softmax n z) * softmax n z a).

Definition rate_of_positives (n : nat) (z : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n z a * excess n z a).
Definition rate_of_negatives (n : nat) (z : vector) (correct : mask) : R :=
  total_on n (complement correct) (fun a => softmax n z a * excess n z a).

Section OneState.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let share (A : mask) : R := total_on n A (fun a => p a * excess n z a).

Lemma same_step correct a : positives_only n z correct a = negatives_only n z correct a.
Proof.
  unfold positives_only, negatives_only; fold p.
  assert (total_on n (complement correct) p = 1 - total_on n correct p) as rest.
  { rewrite <- (softmax_sum n z some); fold p; rewrite <- (total_on_complement n correct p); ring. }
  rewrite rest; unfold only, complement; destruct (correct a); simpl; ring.
Qed.

Lemma rate_is_first_order correct :
  first_order n z (positives_only n z correct) = rate_of_positives n z correct.
Proof.
  transitivity (first_order n z (score_step n z (only correct p))); [reflexivity|].
  rewrite first_order_score_step by exact some; unfold rate_of_positives, total_on; f_equal.
  apply sum_ext; intros a _; unfold only; fold p; destruct (correct a); ring.
Qed.

Lemma shares_cancel A : share A + share (complement A) = 0.
Proof.
  unfold share; rewrite total_on_complement; apply (mean_excess n z some).
Qed.

Lemma same_rate correct : rate_of_negatives n z correct = rate_of_positives n z correct.
Proof.
  pose proof (shares_cancel correct); unfold rate_of_negatives, rate_of_positives, share in *.
  fold p; lra.
Qed.

(** The likelier ones of two sets that are ordered have a nonnegative share: either one of the less likely has
    c_b > C, and then all the likelier do, or none has. *)
Lemma share_of_likelier A :
  (forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = false -> z b <= z a) -> 0 <= share A.
Proof.
  intros top.
  destruct (some_on n (both (complement A) (fun a => less 0 (excess n z a)))) eqn:found.
  - apply some_on_spec in found as [b [b_inside b_member]].
    apply in_both in b_member as [b_out b_above]; apply complement_true in b_out; apply is_less in b_above.
    apply total_on_nonneg; intros a a_inside a_in.
    apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|].
    apply Rlt_le, (excess_once n z some a b); [apply top; assumption|exact b_above].
  - enough (share (complement A) <= 0) by (pose proof (shares_cancel A); lra).
    enough (0 <= - share (complement A)) by lra.
    unfold share; replace (- total_on n (complement A) (fun a => p a * excess n z a))
      with (total_on n (complement A) (fun a => p a * - excess n z a)).
    + apply total_on_nonneg; intros b b_inside b_out.
      apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|].
      destruct (Rlt_dec 0 (excess n z b)) as [above|]; [exfalso|lra].
      assert (some_on n (both (complement A) (fun a => less 0 (excess n z a))) = true); [|congruence].
      apply some_on_spec; exists b; split; [exact b_inside|].
      apply in_both; split; [exact b_out|apply is_less, above].
    + unfold total_on; rewrite <- sum_opp; apply sum_ext; intros a _; unfold only.
      destruct (complement A a); ring.
Qed.

Lemma share_of_less_likely A :
  (forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = false -> z a <= z b) -> share A <= 0.
Proof.
  intros bottom; pose proof (shares_cancel A).
  enough (0 <= share (complement A)) by lra.
  apply share_of_likelier; intros a b a_inside b_inside a_out b_in.
  apply complement_true in a_out; unfold complement in b_in; apply negb_false_iff in b_in.
  apply bottom; assumption.
Qed.

End OneState.

Lemma same_rates :
  forall (n : nat) (logits : vector) (correct : mask),
  nonempty n correct -> nonempty n (complement correct) ->
  (forall a, positives_only n logits correct a = negatives_only n logits correct a)
  /\ derivative (fun t => entropy n (fun a => logits a + t * positives_only n logits correct a)) 0
       (rate_of_positives n logits correct)
  /\ rate_of_negatives n logits correct = rate_of_positives n logits correct
  /\ (largest_on n (complement correct) logits <= smallest_on n correct logits ->
      rate_of_positives n logits correct <= 0 /\ rate_of_negatives n logits correct <= 0)
  /\ (largest_on n correct logits <= smallest_on n (complement correct) logits ->
      0 <= rate_of_positives n logits correct /\ 0 <= rate_of_negatives n logits correct).
Proof.
  intros n logits correct some_right some_wrong.
  assert (some : (0 < n)%nat) by (destruct some_right as [a [inside _]]; lia).
  pose proof (same_rate n logits some correct) as same.
  split; [|split; [|split; [|split]]].
  - intros a; apply same_step, some.
  - rewrite <- rate_is_first_order by exact some; apply first_order_is_derivative, some.
  - exact same.
  - intros separated; rewrite same; unfold rate_of_positives.
    enough (0 <= total_on n correct (fun a => softmax n logits a * excess n logits a)) by lra.
    apply (share_of_likelier n logits some); intros a b a_inside b_inside right wrong.
    apply complement_true in wrong.
    pose proof (largest_on_ge n (complement correct) logits b b_inside wrong).
    pose proof (smallest_on_le n correct logits a a_inside right); lra.
  - intros separated; rewrite same; unfold rate_of_positives.
    enough (total_on n correct (fun a => softmax n logits a * excess n logits a) <= 0) by lra.
    apply (share_of_less_likely n logits some); intros a b a_inside b_inside right wrong.
    apply complement_true in wrong.
    pose proof (smallest_on_le n (complement correct) logits b b_inside wrong).
    pose proof (largest_on_ge n correct logits a a_inside right); lra.
Qed.

Theorem proved : Statements.later_work.entrocraft.repair.
Proof.
  intros n logits correct two some_right not_all separated.
  pose proof (Masks.some_wrong n correct not_all) as some_wrong.
  destruct (same_rates n logits correct some_right some_wrong) as [step [rate [same [above below]]]].
  split; [|split; [|split; [exact rate|exact same]]].
  - destruct (less (Statements.later_work.entrocraft.correct_above n logits correct) 0) eqn:which; cbn [negb].
    + apply is_less in which.
      assert (0 <= Statements.later_work.entrocraft.correct_below n logits correct) as apart.
      { unfold Rmax in separated; destruct (Rle_dec _ _) in separated; [exact separated|lra]. }
      unfold Statements.later_work.entrocraft.correct_below in apart.
      destruct below as [positives negatives]; [unfold complement; lra|].
      rewrite !Rmult_1_l; split; [exact positives|exact negatives].
    + apply is_not_less in which; unfold Statements.later_work.entrocraft.correct_above in which.
      destruct above as [positives negatives]; [unfold complement; lra|].
      change (0 <= - 1 * rate_of_positives n logits correct /\ 0 <= - 1 * rate_of_negatives n logits correct).
      lra.
  - intros a _; transitivity (negatives_only n logits correct a); [exact (step a)|].
    unfold negatives_only, Statements.later_work.entrocraft.negatives_only, only, complement.
    destruct (correct a); reflexivity.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.entrocraft.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.
