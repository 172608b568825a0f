(** Extension: an entropy bonus with vanilla gradient steps, two actions. The step -c S with
    S_a = pi_a (log pi_a + H) turns the gap x of the logits into x (1 - 2 c pi_1 pi_2); so for 0 < c <= 4 it
    never lowers entropy, and where c pi_1 pi_2 > 1 it does, save at the uniform policy. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions Growth.
From Trusted.Statements.extension Require entropy_bonus_two_actions.
Open Scope R_scope.

Definition bonus_step (z : vector) (c : R) : vector := fun a => - c * own_covariance 2 z a.

Section TwoActions.

Variables (z : vector) (c : R).
Let p := softmax 2 z 0%nat.
Let q := softmax 2 z 1%nat.

Lemma p_plus_q : p + q = 1.
Proof. rewrite <- (softmax_sum 2 z) by lia; unfold p, q; simpl; ring. Qed.

Lemma product_bounds : 0 < p * q <= / 4.
Proof.
  assert (0 < p) by (apply softmax_pos; lia); assert (0 < q) by (apply softmax_pos; lia).
  split; [apply Rmult_lt_0_compat; assumption|].
  pose proof p_plus_q; replace q with (1 - p) by lra.
  pose proof (Rle_0_sqr (p - / 2)) as square; unfold Rsqr in square; lra.
Qed.

Lemma moved_gap : gap (fun a => z a + bonus_step z c a) = gap z * (1 - 2 * c * (p * q)).
Proof.
  unfold gap, bonus_step, own_covariance, centered, mean; simpl; fold p q.
  replace q with (1 - p) by (pose proof p_plus_q; lra); ring.
Qed.

Lemma entropy_after :
  entropy 2 (fun a => z a + bonus_step z c a) = entropy 2 (with_gap (gap z * (1 - 2 * c * (p * q)))).
Proof. rewrite entropy_of_gap, moved_gap; reflexivity. Qed.

Lemma safe : 0 < c -> c <= 4 -> entropy 2 z <= entropy 2 (fun a => z a + bonus_step z c a).
Proof.
  intros positive small; rewrite entropy_after, (entropy_of_gap z); apply shorter_gap.
  rewrite Rabs_mult; replace (Rabs (gap z)) with (Rabs (gap z) * 1) at 2 by ring.
  apply Rmult_le_compat_l; [apply Rabs_pos|].
  pose proof product_bounds.
  assert (c * (p * q) <= 4 * / 4) by (apply Rmult_le_compat; lra).
  assert (0 < c * (p * q)) by (apply Rmult_lt_0_compat; lra).
  apply Rabs_le; lra.
Qed.

Lemma too_large :
  1 < c * (p * q) -> gap z <> 0 -> entropy 2 (fun a => z a + bonus_step z c a) < entropy 2 z.
Proof.
  intros large not_uniform; rewrite entropy_after, (entropy_of_gap z); apply longer_gap.
  rewrite Rabs_mult, <- (Rmult_1_r (Rabs (gap z))) at 1.
  apply Rmult_lt_compat_l; [apply Rabs_pos_lt, not_uniform|].
  rewrite Rabs_left; lra.
Qed.

End TwoActions.

Theorem proved : Statements.extension.entropy_bonus_two_actions.statement.
Proof.
  intros n logits share two positive small; subst n; split.
  - pose proof (safe logits (share * 4) ltac:(lra) ltac:(lra)) as rise.
    apply Rge_le, Rge_minus, Rle_ge; exact rise.
  - intros c [[c_positive large] different].
    apply Rlt_minus; apply (too_large logits c); [|unfold gap; lra].
    apply (Rmult_lt_reg_l (/ c)); [apply Rinv_0_lt_compat, c_positive|].
    rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l, Rmult_1_r by lra.
    unfold Rdiv in large; rewrite Rmult_1_l in large; exact large.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.entropy_bonus_two_actions.witness.
Proof. exists 2%nat, (fun _ => 0), 1; witnessed. Qed.

Theorem witness_1 : Statements.extension.entropy_bonus_two_actions.witness_1.
Proof. exists 2%nat, one_to_two, 1; do 3 (split; [witnessed|]); exists 9; witnessed. Qed.

Theorem defined : Statements.extension.entropy_bonus_two_actions.defined.
Proof. domains. Qed.
