(** Proposition 1 (II) of AEnt with a sharper constant: V*(q) - V(q) <=
    |D| sqrt(h (n - 1)/n) ||grad V(D)||_2 / C(q) (extension). Equality with one token, one right answer
    and wrong ones that are equally likely. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues
  TreeGradientBounds Stationarity.
Import ListNotations.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n horizon prompts : nat) (logits : nat -> policy) (reward : nat -> state -> R) (eps : R),
    (1 <= n)%nat -> (1 <= horizon)%nat -> (1 <= prompts)%nat ->
    sqrt (sum prompts (fun q => sum_states n horizon (fun s => sum n (fun a => Rsqr
      (gradient_formula n horizon (logits q) (reward q) s a / INR prompts)))))
    <= eps ->
    forall q y, (q < prompts)%nat -> response_of n horizon y ->
    (forall u, response_of n horizon u -> reward q u <= reward q y) ->
    reward q y - mean_responses n horizon (logits q) (reward q)
    <= INR prompts * sqrt (INR horizon * (INR n - 1) / INR n) * eps / probability n (logits q) y.

Theorem proved : statement.
Proof.
  unfold statement; intros n h prompts logits reward eps some long many small q y inside response best.
  change (sqrt (data_gradient_squares n h prompts logits reward) <= eps) in small.
  set (gap := reward q y - mean_responses n h (logits q) (reward q)).
  pose proof (probability_pos n (logits q) y some) as positive.
  pose proof (data_gradient_squares_nonneg n h prompts logits reward) as nonneg.
  pose proof (data_gap_le_gradient_sharp n h prompts logits reward some long q y inside response) as bound.
  fold gap in bound.
  assert (0 <= eps) as eps_nonneg by (eapply Rle_trans; [apply sqrt_pos|exact small]).
  assert (data_gradient_squares n h prompts logits reward <= eps * eps) as squares.
  { rewrite <- (sqrt_sqrt _ nonneg); apply Rmult_le_compat; try apply sqrt_pos; assumption. }
  apply (Rmult_le_reg_l (probability n (logits q) y)); [assumption|].
  replace (probability n (logits q) y
           * (INR prompts * sqrt (INR h * (INR n - 1) / INR n) * eps / probability n (logits q) y))
    with (INR prompts * sqrt (INR h * (INR n - 1) / INR n) * eps) by (field; lra).
  assert (1 <= INR n) as at_least_one by (apply (le_INR 1); lia).
  assert (0 <= INR h * (INR n - 1) / INR n) as factor.
  { apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|lra]|].
    apply Rlt_le, Rinv_0_lt_compat; lra. }
  apply Rsqr_incr_0_var; [|apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|apply sqrt_pos]|
    assumption]].
  rewrite !(Rsqr_mult (INR prompts * _)), (Rsqr_mult (INR prompts)), Rsqr_sqrt by exact factor.
  apply (Rmult_le_reg_l (INR n)); [lra|].
  eapply Rle_trans; [exact bound|].
  replace (INR n * (Rsqr (INR prompts) * (INR h * (INR n - 1) / INR n) * Rsqr eps))
    with (Rsqr (INR prompts) * INR h * (INR n - 1) * Rsqr eps) by (field; lra).
  apply Rmult_le_compat_l; [|exact squares].
  apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rle_0_sqr|apply pos_INR]|lra].
Qed.
