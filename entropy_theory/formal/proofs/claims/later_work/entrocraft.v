(** Entrocraft (arXiv 2604.26326), the sign rule: training on positive samples only and on negative samples only
    have the same expected step, so that one cannot lower entropy and the other raise it. If every correct action
    is at least as likely as every wrong one, both lower entropy at first order; if at most as likely, both raise
    it. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Contributions Masks TokenLosses.
From PolicyEntropy.library Require Masks.
From Trusted.Statements.later_work Require entrocraft.
Open Scope R_scope.

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
