(** DPPO (arXiv 2602.04879), Theorem 3.2: what a policy gains over its sampler is the surrogate's value, up to T (T - 1)
    times the square of the largest total variation of a state, times the range of the rewards.

    By the first token a and the tree below it: gain - surrogate is the mean under the sampler of the same below a, plus
    sum_a (pi - mu)(a) (J_a(pi) - J_a(mu)). *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeLargest.
From Trusted.Statements.later_work Require dppo_bound.
Module Stated := Statements.later_work.dppo_bound.
Import ListNotations.
Open Scope R_scope.

Definition variation (n : nat) (p q : vector) : R := sum n (fun a => Rabs (q a - p a)) / 2.
Definition growth (n : nat) (z w : policy) : state -> vector :=
  fun s a => softmax n (w s) a / softmax n (z s) a - 1.
Definition surrogate (n h : nat) (z w : policy) (reward : state -> R) : R :=
  mean_responses n h z (fun y => reward y * sum_along (growth n z w) y).

Lemma Rabs_of_sum n f : Rabs (sum n f) <= sum n (fun a => Rabs (f a)).
Proof.
  induction n as [|k IH]; simpl; [rewrite Rabs_R0; lra|].
  pose proof (Rabs_triang (sum k f) (f k)); lra.
Qed.

Lemma variation_nonneg n p q : 0 <= variation n p q.
Proof.
  unfold variation; enough (0 <= sum n (fun a => Rabs (q a - p a))) by lra.
  apply sum_nonneg; intros; apply Rabs_pos.
Qed.

(** What is moved is worth no more than the range. *)
Lemma moved_value n p q f low high :
  sum n p = sum n q -> (forall a, (a < n)%nat -> low <= f a <= high) ->
  Rabs (sum n (fun a => (q a - p a) * f a)) <= (high - low) * variation n p q.
Proof.
  intros same within; set (middle := (low + high) / 2).
  rewrite (sum_ext n _ (fun a => (q a - p a) * (f a - middle) + (q a - p a) * middle)) by (intros; ring).
  rewrite sum_plus, sum_scal_r, sum_minus, same.
  replace (_ + (sum n q - sum n q) * middle) with (sum n (fun a => (q a - p a) * (f a - middle))) by ring.
  apply Rle_trans with (1 := Rabs_of_sum n _); unfold variation.
  replace ((high - low) * (sum n (fun a => Rabs (q a - p a)) / 2))
    with (sum n (fun a => Rabs (q a - p a)) * ((high - low) / 2)) by field.
  rewrite <- sum_scal_r; apply sum_le; intros a inside; rewrite Rabs_mult.
  apply Rmult_le_compat_l; [apply Rabs_pos|]; specialize (within a inside).
  apply Rabs_le; unfold middle; lra.
Qed.

Lemma mean_difference n p q f g :
  mean n q g - mean n p f = sum n (fun a => (q a - p a) * g a) + mean n p (fun a => g a - f a).
Proof.
  unfold mean; rewrite <- sum_minus, <- sum_plus; apply sum_ext; intros; ring.
Qed.

Lemma Rabs_mean n p f bound :
  sum n p = 1 -> (forall a, (a < n)%nat -> 0 <= p a) -> (forall a, (a < n)%nat -> Rabs (f a) <= bound) ->
  Rabs (mean n p f) <= bound.
Proof.
  intros one nonneg within; apply Rle_trans with (1 := Rabs_of_sum n _).
  rewrite <- (Rmult_1_l bound), <- one, <- sum_scal_r; apply sum_le; intros a inside.
  rewrite Rabs_mult, (Rabs_right (p a)) by (apply Rle_ge, nonneg, inside).
  apply Rmult_le_compat_l; [apply nonneg, inside|apply within, inside].
Qed.

Section Trees.

Variables (n : nat) (low high most : R).
Hypothesis some : (0 < n)%nat.
Hypothesis wide : low <= high.
Hypothesis moved : 0 <= most.

Let policy_sum z : sum n (softmax n z) = 1 := softmax_sum n z some.

Definition near (h : nat) (z w : policy) : Prop :=
  forall s, state_of n h s -> variation n (softmax n (z s)) (softmax n (w s)) <= most.
Definition within (h : nat) (reward : state -> R) : Prop := forall y, response_of n h y -> low <= reward y <= high.

Lemma near_after k z w a : (a < n)%nat -> near (S k) z w -> near k (after a z) (after a w).
Proof. intros inside close s state; apply (close (a :: s)), state_of_cons; assumption. Qed.

Lemma within_after k reward a : (a < n)%nat -> within (S k) reward -> within k (after a reward).
Proof. intros inside bounds y response; apply (bounds (a :: y)), response_of_cons; assumption. Qed.

Lemma mean_within h z reward : within h reward -> low <= mean_responses n h z reward <= high.
Proof.
  intros bounds.
  pose proof (mean_responses_le n h z (fun _ => low) reward some (fun y inside => proj1 (bounds y inside))) as above.
  pose proof (mean_responses_le n h z reward (fun _ => high) some (fun y inside => proj2 (bounds y inside))) as below.
  rewrite mean_responses_const in above, below by exact some; lra.
Qed.

Lemma gain_bounded h : forall z w reward, near h z w -> within h reward ->
  Rabs (mean_responses n h w reward - mean_responses n h z reward) <= (high - low) * INR h * most.
Proof.
  induction h as [|k IH]; intros z w reward close bounds.
  { unfold mean_responses; simpl; rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; lra. }
  rewrite !mean_responses_first, mean_difference, S_INR.
  apply Rle_trans with (1 := Rabs_triang _ _).
  apply Rle_trans with ((high - low) * most + (high - low) * INR k * most); [apply Rplus_le_compat|lra].
  - apply Rle_trans with ((high - low) * variation n (softmax n (z [])) (softmax n (w []))).
    + apply moved_value; [rewrite !policy_sum; reflexivity|]; intros a inside.
      apply mean_within, within_after; assumption.
    + apply Rmult_le_compat_l; [lra|apply close, state_of_nil].
  - apply Rabs_mean; [apply policy_sum|intros; apply Rlt_le, softmax_pos, some|]; intros a inside.
    apply IH; [apply near_after|apply within_after]; assumption.
Qed.

Lemma surrogate_first k z w reward :
  surrogate n (S k) z w reward =
  sum n (fun a => (softmax n (w []) a - softmax n (z []) a) * mean_responses n k (after a z) (after a reward))
  + mean n (softmax n (z [])) (fun a => surrogate n k (after a z) (after a w) (after a reward)).
Proof.
  unfold surrogate; rewrite mean_responses_first; unfold mean; rewrite <- sum_plus; apply sum_ext; intros a _.
  rewrite (mean_responses_ext n k (after a z) _ (fun y =>
    growth n z w [] a * after a reward y
    + after a reward y * sum_along (growth n (after a z) (after a w)) y))
    by (intros y _; change (reward (a :: y) * (growth n z w [] a + sum_along (growth n (after a z) (after a w)) y)
          = growth n z w [] a * reward (a :: y)
            + reward (a :: y) * sum_along (growth n (after a z) (after a w)) y); ring).
  rewrite mean_responses_plus, mean_responses_scal; unfold growth at 1.
  field; apply Rgt_not_eq, softmax_pos, some.
Qed.

Lemma error_bounded h : forall z w reward, near h z w -> within h reward ->
  Rabs (mean_responses n h w reward - mean_responses n h z reward - surrogate n h z w reward)
  <= (high - low) * (INR h * (INR h - 1) * most * most).
Proof.
  induction h as [|k IH]; intros z w reward close bounds.
  { unfold surrogate, mean_responses; simpl; apply Req_le.
    transitivity (Rabs 0); [apply f_equal; ring|rewrite Rabs_R0; ring]. }
  rewrite surrogate_first, !mean_responses_first, mean_difference, S_INR.
  set (p := softmax n (z [])); set (q := softmax n (w [])).
  set (under := fun a => mean_responses n k (after a z) (after a reward)).
  set (over := fun a => mean_responses n k (after a w) (after a reward)).
  set (rest := fun a => surrogate n k (after a z) (after a w) (after a reward)).
  match goal with |- Rabs ?found <= _ => replace found with
    (sum n (fun a => (q a - p a) * (over a - under a)) + mean n p (fun a => over a - under a - rest a)) end.
  2: { unfold mean; rewrite <- !sum_plus, <- sum_minus; apply sum_ext; intros; unfold over, under; ring. }
  assert (forall a, (a < n)%nat -> Rabs (over a - under a) <= (high - low) * INR k * most) as gained.
  { intros a inside; apply gain_bounded; [apply near_after|apply within_after]; assumption. }
  set (reach := (high - low) * INR k * most) in *.
  assert (0 <= reach) as reaches.
  { unfold reach; pose proof (pos_INR k); apply Rmult_le_pos; [apply Rmult_le_pos|]; lra. }
  apply Rle_trans with (1 := Rabs_triang _ _).
  apply Rle_trans with (2 * reach * most + (high - low) * (INR k * (INR k - 1) * most * most));
    [apply Rplus_le_compat|unfold reach; lra].
  - apply Rle_trans with ((reach - - reach) * variation n p q).
    + apply moved_value; [unfold p, q; rewrite !policy_sum; reflexivity|]; intros a inside.
      apply Rabs_le_between, gained, inside.
    + replace (reach - - reach) with (2 * reach) by ring.
      apply Rmult_le_compat_l; [lra|apply close, state_of_nil].
  - apply Rabs_mean; [apply policy_sum|intros; apply Rlt_le, softmax_pos, some|]; intros a inside.
    apply IH; [apply near_after|apply within_after]; assumption.
Qed.

End Trees.

Theorem proved : Statements.later_work.dppo_bound.statement.
Proof.
  intros n h logits reward step several long; assert (some : (0 < n)%nat) by lia.
  set (w := fun s a => logits s a + step s a).
  set (most := Stated.largest_variation n h logits step).
  assert (near n most h logits w) as close.
  { intros s state; apply (largest_states_ge n h (fun u =>
      sum n (fun a => Rabs (softmax n (w u) a - softmax n (logits u) a)) / 2) s state). }
  assert (0 <= most) as moved.
  { apply Rle_trans with (1 := variation_nonneg n (softmax n (logits [])) (softmax n (w []))).
    apply close; split; simpl; [lia|constructor]. }
  destruct (largest_responses_attained n h reward some) as (y & response & _).
  change (Stated.surrogate n h logits step reward) with (surrogate n h logits w reward).
  unfold Stated.penalty; fold most; split.
  - set (size := largest_responses n h (fun u => Rabs (reward u))).
    assert (within n (- size) size h reward) as bounds.
    { intros u inside; apply Rabs_le_between.
      apply (largest_responses_ge n h (fun v => Rabs (reward v)) u inside). }
    pose proof (bounds y response).
    pose proof (error_bounded n (- size) size most some ltac:(lra) moved h logits w reward close bounds) as error.
    apply Rabs_le_between in error; lra.
  - assert (within n (- largest_responses n h (fun u => - reward u)) (largest_responses n h reward) h reward)
      as bounds.
    { intros u inside; pose proof (largest_responses_ge n h reward u inside).
      pose proof (largest_responses_ge n h (fun v => - reward v) u inside); lra. }
    apply error_bounded; try assumption; pose proof (bounds y response); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.later_work.dppo_bound.witness.
Proof. exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => 0), (fun _ => (fun _ => 0)); witnessed. Qed.

Theorem defined : Statements.later_work.dppo_bound.defined.
Proof. intros n h logits reward step several long s _ a _; apply Rgt_not_eq, softmax_pos; lia. Qed.
