(** AEnt, Section 5.3, with a hypothesis: a higher temperature makes responses longer where the token that ends
    them is the likelier one of two at every state.

    Only the other token is followed by more: E|o| = 1 + q E|rest|, with q its probability, which a higher
    temperature raises where it is below 1/2. *)

From Coq Require Import Reals Lra Lia List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeLargest ResponseLengths.
From Trusted.Statements.aent Require entropy_length.
Import ListNotations.
Open Scope R_scope.

Definition counted : state -> vector := fun s _ => if running stop s then 1 else 0.

Lemma value_nothing n k z e :
  (0 < n)%nat -> (forall s a, e s a = 0) -> value n k z e = 0.
Proof.
  intros some none; rewrite (value_ext n k z e (fun s a => 0 * e s a)) by (intros; rewrite none; ring).
  rewrite value_scal; ring.
Qed.

Lemma length_first k z :
  value 2 (S k) z counted = 1 + softmax 2 (z []) 1%nat * value 2 k (after 1%nat z) counted.
Proof.
  simpl value; unfold mean; simpl sum.
  rewrite (value_nothing 2 k (after 0%nat z)) by (lia || reflexivity).
  change (value 2 k (after 1%nat z) (after 1%nat counted)) with (value 2 k (after 1%nat z) counted).
  pose proof (softmax_sum 2 (z []) ltac:(lia)) as one; simpl sum in one.
  change (counted [] 0%nat) with 1; change (counted [] 1%nat) with 1; lra.
Qed.

Lemma length_grows h : forall z z',
  (forall s, state_of 2 h s -> softmax 2 (z s) 1%nat <= softmax 2 (z' s) 1%nat) ->
  0 <= value 2 h z counted <= value 2 h z' counted.
Proof.
  induction h as [|k IH]; intros z z' likelier; [simpl; lra|].
  rewrite !length_first.
  pose proof (likelier [] (state_of_nil 2 k)) as root.
  pose proof (softmax_pos 2 (z []) 1 ltac:(lia)) as positive.
  destruct (IH (after 1%nat z) (after 1%nat z')) as [nonneg below].
  { intros s inside; apply (likelier (1%nat :: s)), state_of_cons; [lia|assumption]. }
  pose proof (Rmult_le_compat _ _ _ _ (Rlt_le _ _ positive) nonneg root below).
  pose proof (Rmult_le_pos _ _ (Rlt_le _ _ positive) nonneg); lra.
Qed.

Lemma cooler_stop (z : vector) T :
  1 < T -> z 1%nat <= z 0%nat -> softmax 2 z 1%nat <= softmax 2 (fun a => z a / T) 1%nat.
Proof.
  intros hot stops; unfold softmax; simpl sum; rewrite !Rplus_0_l.
  pose proof (exp_pos (z 0%nat)); pose proof (exp_pos (z 1%nat)).
  pose proof (exp_pos (z 0%nat / T)); pose proof (exp_pos (z 1%nat / T)).
  assert (exp (z 1%nat) * exp (z 0%nat / T) <= exp (z 1%nat / T) * exp (z 0%nat)) as crossed.
  { rewrite <- !exp_plus.
    assert (z 1%nat + z 0%nat / T <= z 1%nat / T + z 0%nat) as [less|same].
    - assert (0 <= (z 0%nat - z 1%nat) * (1 - / T)) as gap.
      { apply Rmult_le_pos; [lra|]; pose proof (Rinv_lt_contravar 1 T ltac:(lra) hot); lra. }
      unfold Rdiv; lra.
    - apply Rlt_le, exp_increasing, less.
    - rewrite same; lra. }
  apply (Rmult_le_reg_r ((exp (z 0%nat) + exp (z 1%nat)) * (exp (z 0%nat / T) + exp (z 1%nat / T))));
    [apply Rmult_lt_0_compat; lra|].
  field_simplify; [|lra|lra]; nra.
Qed.

Theorem proved : Statements.aent.entropy_length.repair.
Proof.
  unfold Statements.aent.entropy_length.repair, Statements.aent.entropy_length.lengths.
  intros n h z T two long _ hot stops; subst n.
  change (mean_responses 2 h z (sum_along counted)
          <= mean_responses 2 h (fun s a => z s a / T) (sum_along counted)).
  rewrite <- !value_responses by lia; apply length_grows; intros s inside; apply cooler_stop; [exact hot|].
  pose proof (largest_states_ge 2 h (fun u => - (z u 0%nat - z u 1%nat)) s inside) as largest; simpl in largest.
  lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aent.entropy_length.witness.
Proof. exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), 2; witnessed. Qed.

Theorem defined : Statements.aent.entropy_length.defined.
Proof. domains. Qed.
