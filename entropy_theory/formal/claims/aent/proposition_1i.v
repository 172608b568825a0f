(** AEnt, Proposition 1 (I): policy entropy bounds the policy gradient, ||grad V(D)||_1 <= 2 H(pi).

    Data sets of any number of prompts, token trees of any size, returns in [0, 1]; both V and H are
    means over the prompts. The best constant is 1/(2 log 2) (extension.gradient-entropy-l1). *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues
  TreeGradientBounds.
Import ListNotations.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n horizon prompts : nat) (logits : nat -> policy) (reward : nat -> state -> R),
    (1 <= n)%nat -> (1 <= prompts)%nat ->
    (forall q y, (q < prompts)%nat -> length y = horizon -> 0 <= reward q y <= 1) ->
    sum prompts (fun q => sum_states n horizon (fun s => sum n (fun a => Rabs
      (gradient_formula n horizon (logits q) (reward q) s a / INR prompts))))
    <= 2 * (sum prompts (fun q => response_entropy n horizon (logits q)) / INR prompts).

Theorem proved : statement.
Proof.
  unfold statement; intros n horizon prompts logits reward some_tokens some_prompts range.
  assert (0 < INR prompts) as many by (apply lt_0_INR; lia).
  rewrite <- sum_div, <- sum_scal; apply sum_le; intros q inside.
  rewrite (sum_states_ext n horizon _ (fun s => / INR prompts * sum n (fun a =>
    Rabs (gradient_formula n horizon (logits q) (reward q) s a)))).
  - rewrite sum_states_scal.
    pose proof (gradient_l1_le_entropy n horizon (logits q) (reward q) some_tokens) as bound.
    specialize (bound ltac:(intros y [long _]; apply range; assumption)).
    pose proof ln_2_above_half.
    replace (2 * (response_entropy n horizon (logits q) / INR prompts))
      with (/ INR prompts * (2 * response_entropy n horizon (logits q))) by (field; lra).
    apply Rmult_le_compat_l; [apply Rlt_le, Rinv_0_lt_compat, many|].
    assert (0 <= sum_states n horizon (fun s => sum n (fun a =>
              Rabs (gradient_formula n horizon (logits q) (reward q) s a)))) as nonneg
      by (apply sum_states_nonneg; intros; apply sum_nonneg; intros; apply Rabs_pos).
    nra.
  - intros s _; rewrite <- sum_scal; apply sum_ext; intros a _.
    unfold Rdiv; rewrite Rabs_mult, (Rabs_pos_eq (/ INR prompts)) by
      (apply Rlt_le, Rinv_0_lt_compat, many).
    unfold gradient_formula; ring.
Qed.
