(** GRPO plus tempered REINFORCE (AEPO, Eq. 1) raises entropy, to first order, exactly if F(T) > 0 and
    alpha > kappa |F(1)|/F(T), where F(1) < 0; and then it does so exactly, in every step whose learning rate is
    below 4 (kappa F(1) + alpha F(T))/((1 + log n) ||step||^2). *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Curvature EntropyChange FirstOrder
  Learning CombinedUpdate StatementForms.
From Trusted.Statements.extension Require combined_update.
Open Scope R_scope.

Theorem proved : Statements.extension.combined_update.statement.
Proof.
  intros n logits correct temperature grpo_weight alpha learning_rate two some hot kappa_pos alpha_pos rate_pos
    falls.
  assert (0 < n)%nat as inhabited by lia.
  assert (Statements.extension.combined_update.combined_step n logits correct temperature grpo_weight alpha
          = combined_step n logits correct temperature grpo_weight alpha) as same
    by apply combined_step_form.
  assert (Statements.extension.combined_update.first_order n logits correct temperature grpo_weight alpha
          = Statements.extension.combined_update.balance n logits correct temperature grpo_weight alpha) as whole.
  { unfold Statements.extension.combined_update.first_order, Statements.extension.combined_update.balance.
    rewrite same, first_order_of_combined_step by lia; rewrite Rplus_comm; reflexivity. }
  rewrite whole, same.
  assert (untempered_rate n logits correct < 0) as negative
    by (change (0 < - untempered_rate n logits correct) in falls; lra).
  pose proof (balance n logits correct temperature grpo_weight alpha negative kappa_pos
                (Rlt_le _ _ alpha_pos)) as exactly.
  pose proof (is_derive_entropy_combined n logits correct temperature grpo_weight alpha inhabited) as slope.
  pose proof (small_steps_rise n logits correct temperature grpo_weight alpha inhabited learning_rate) as rise.
  pose proof (small_enough n logits correct temperature grpo_weight alpha learning_rate rate_pos) as small.
  rewrite (Rplus_comm (grpo_weight * _)) in exactly, slope, rise, small.
  change (alpha * rate n logits correct temperature + grpo_weight * untempered_rate n logits correct)
    with (Statements.extension.combined_update.balance n logits correct temperature grpo_weight alpha)
    in exactly, slope, rise, small.
  destruct (both_directions _ _ _ exactly) as (first & second).
  repeat split.
  - exact first.
  - exact second.
  - change (Statements.extension.combined_update.remainder_bound n) with (remainder_bound n).
    destruct (Rlt_dec (remainder_bound n (fun a => learning_rate
                         * combined_step n logits correct temperature grpo_weight alpha a))
                (learning_rate * Statements.extension.combined_update.balance n logits correct temperature
                                   grpo_weight alpha)) as [below|above].
    + apply Rle_trans with (2 := Rmax_r _ _), Rlt_le, rise, below.
    + apply Rle_trans with (2 := Rmax_l _ _); lra.
  - apply exactly; assumption.
  - apply exactly; assumption.
  - apply exactly.
  - apply is_derive_Reals, slope.
  - intros below; apply rise, small, below.
Qed.

From PolicyEntropy.library Require Import Witnesses  Domains.

Theorem witness : Statements.extension.combined_update.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => Nat.eqb a 1), 3, 1, 1,
    1; witnessed.
Qed.

Theorem witness_1 : Statements.extension.combined_update.witness_1.
Proof. exists 3%nat, one_one_sixteen, (fun a => negb (Nat.eqb a 0)), 2, 1, 100, 1; witnessed. Qed.

Theorem witness_2 : Statements.extension.combined_update.witness_2.
Proof.
  exists 3%nat, one_one_sixteen, (fun a => negb (Nat.eqb a 0)), 2, 1, 100, 1; do 7 (split; [witnessed|]).
  assert (0 < Statements.extension.combined_update.rate 3 one_one_sixteen (fun a => negb (Nat.eqb a 0)) 2)
    as above by numbers.
  split; [exact above|]; apply Rlt_div_l; [exact above|]; numbers.
Qed.

Theorem witness_3 : Statements.extension.combined_update.witness_3.
Proof.
  exists 3%nat, one_one_sixteen, (fun a => negb (Nat.eqb a 0)), 2, 1, 2, (1 / 100);
    do 7 (split; [witnessed|]).
  assert (ln (INR 3) <= 2) as few.
  { rewrite <- (ln_exp 2); apply Rlt_le, ln_increasing; [simpl; lra|].
    pose proof (exp_ineq1 2 ltac:(lra)); simpl; lra. }
  revert few; generalize (ln (INR 3)); intros l few; numbers.
Qed.

Theorem defined : Statements.extension.combined_update.defined.
Proof. domains. Qed.
