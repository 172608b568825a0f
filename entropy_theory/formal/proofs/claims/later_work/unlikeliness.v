(** Unlikeliness reward (arXiv 2506.02355): where no wrong answer is likelier than a right one, a reward that falls with
    an answer's rank has at least the rate of entropy of the reward itself. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Contributions Masks TokenLosses.
From Trusted.Statements.later_work Require unlikeliness.
Open Scope R_scope.

Definition less_likely (n : nat) (z : vector) : vector :=
  fun a => sum n (fun b => if less (z b) (z a) then softmax n z b else 0).

Lemma less_likely_nonneg n z a : (0 < n)%nat -> 0 <= less_likely n z a.
Proof.
  intros some; apply sum_nonneg; intros b _; pose proof (softmax_pos n z b some).
  destruct (less (z b) (z a)); lra.
Qed.

Lemma less_likely_rises n z a b : (0 < n)%nat -> z b < z a -> less_likely n z b <= less_likely n z a.
Proof.
  intros some above; apply sum_le; intros c _; pose proof (softmax_pos n z c some).
  destruct (less (z c) (z b)) eqn:under; destruct (less (z c) (z a)) eqn:over; try lra.
  apply is_less in under; apply is_not_less in over; lra.
Qed.

Theorem proved : Statements.later_work.unlikeliness.repair.
Proof.
  intros n logits correct two some_right top; assert (some : (0 < n)%nat) by lia.
  assert (order : forall a b, (a < n)%nat -> (b < n)%nat -> correct a = true -> correct b = false ->
            logits b <= logits a).
  { intros a b a_inside b_inside right wrong.
    destruct (some_on n (complement correct)) eqn:found; simpl in top.
    - unfold Statements.later_work.unlikeliness.correct_above in top.
      pose proof (smallest_on_le n correct logits a a_inside right).
      pose proof (largest_on_ge n (complement correct) logits b b_inside) as below.
      assert (complement correct b = true) as out by (apply complement_true, wrong).
      specialize (below out); unfold complement in *; lra.
    - pose proof (some_on_empty n _ found b b_inside) as none.
      unfold complement in none; rewrite wrong in none; discriminate. }
  assert (gained : Statements.later_work.unlikeliness.gained n logits correct
                   = total_on n correct (fun a => softmax n logits a * less_likely n logits a * excess n logits a))
    by reflexivity.
  split.
  - rewrite gained; apply weighted_share; [exact some| | |].
    + intros a b _ _ above; apply less_likely_rises; assumption.
    + intros; apply less_likely_nonneg, some.
    + apply share_of_likelier; assumption.
  - set (penalty := fun a => if correct a then less_likely n logits a else 0).
    pose proof (first_order_is_derivative n logits
      (fun a => - score_step n logits (fun b => softmax n logits b * penalty b) a) some) as found.
    replace (Statements.later_work.unlikeliness.gained n logits correct)
      with (first_order n logits (fun a => - score_step n logits (fun b => softmax n logits b * penalty b) a));
      [exact found|].
    unfold first_order.
    rewrite (covariance_ext n (softmax n logits) logits _ logits
               (fun a => -1 * score_step n logits (fun b => softmax n logits b * penalty b) a))
      by (intros; ring).
    rewrite covariance_sym, covariance_scal_l, covariance_sym.
    pose proof (first_order_of_scores n logits some penalty) as rate; unfold first_order in rate.
    rewrite covariance_own in rate by exact some; rewrite gained.
    assert (sum n (fun a => softmax n logits a * penalty a * excess n logits a)
            = total_on n correct (fun a => softmax n logits a * less_likely n logits a * excess n logits a)).
    { apply sum_ext; intros a _; unfold penalty, only; destruct (correct a); ring. }
    lra.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.unlikeliness.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.
