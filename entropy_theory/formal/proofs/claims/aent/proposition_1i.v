(** AEnt, Proposition 1 (I): policy entropy bounds the policy gradient, ||grad V(D)||_1 <= 2 H(pi).

    Data sets of any number of prompts, token trees of any size, returns in [0, 1]; both V and H are
    means over the prompts. The best constant is 1/(2 log 2) (extension.gradient-entropy-l1). *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities Trees TreeValues
  TreeGradientBounds.
From Trusted.Statements.aent Require Import proposition_1i.
Open Scope R_scope.

Lemma value_gradient_formula n h prompts z reward q s a :
  value_gradient n h prompts z reward q s a = gradient_of_value n h (z q) (reward q) s a.
Proof. unfold value_gradient, gradient_of_value, advantage_at; ring. Qed.

Theorem proved : Statements.aent.proposition_1i.statement.
Proof.
  intros n h prompts logits reward several long some_prompts nonneg below.
  assert (0 < INR prompts) as many by (apply lt_0_INR; lia).
  split.
  - unfold Rdiv; rewrite <- Rmult_assoc.
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, many|].
    rewrite <- sum_scal; apply sum_le; intros q inside; unfold l1_norm.
    rewrite (sum_states_ext n h _ (fun s => sum n (fun a =>
      Rabs (gradient_of_value n h (logits q) (reward q) s a)))).
    + pose proof (gradient_l1_le_entropy n h (logits q) (reward q) ltac:(lia)) as bound.
      specialize (bound ltac:(intros y response; split; auto)).
      pose proof ln_2_above_half.
      assert (0 <= sum_states n h (fun s => sum n (fun a =>
                Rabs (gradient_of_value n h (logits q) (reward q) s a)))) as sizes
        by (apply sum_states_nonneg; intros; apply sum_nonneg; intros; apply Rabs_pos).
      nra.
    + intros s _; apply sum_ext; intros a _; rewrite value_gradient_formula; reflexivity.
  - intros direction.
    rewrite (sum_ext prompts _ (fun q => sum_states n h (fun s => sum n (fun a =>
      gradient_of_value n h (logits q) (reward q) s a / INR prompts * direction q s a)))).
    + apply mean_return_along; lia.
    + intros q _; apply sum_states_ext; intros s _; apply sum_ext; intros a _.
      rewrite value_gradient_formula; reflexivity.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aent.proposition_1i.witness.
Proof.
  exists 2%nat, 1%nat, 1%nat, (fun _ _ => (fun _ => 0)), (fun _ y => (fun a => match a with | 0%nat => 0
    | _ => 1 end) (List.hd 0%nat y)); witnessed.
Qed.

Theorem defined : Statements.aent.proposition_1i.defined.
Proof. domains. Qed.
