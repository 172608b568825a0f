(** AEnt, Proposition 1 (II): an almost stationary policy is almost optimal where a right response is not
    rare. ||grad V(D)||_2 <= eps implies V*(q) - V(q) <= |D| sqrt(h) eps / C(q), C(q) the probability of
    the likeliest right response; here for every response of the largest return in place of the
    likeliest one, which is the same. Returns are any real numbers. *)

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
    <= INR prompts * sqrt (INR horizon) * eps / probability n (logits q) y.

Theorem proved : statement.
Proof.
  unfold statement; intros n h prompts logits reward eps some long many small q y inside response best.
  change (sqrt (data_gradient_squares n h prompts logits reward) <= eps) in small.
  set (gap := reward q y - mean_responses n h (logits q) (reward q)).
  pose proof (probability_pos n (logits q) y some) as positive.
  pose proof (data_gradient_squares_nonneg n h prompts logits reward) as nonneg.
  pose proof (data_gap_le_gradient n h prompts logits reward some long q y inside response) as bound.
  fold gap in bound.
  assert (0 <= eps) as eps_nonneg by (eapply Rle_trans; [apply sqrt_pos|exact small]).
  assert (data_gradient_squares n h prompts logits reward <= eps * eps) as squares.
  { rewrite <- (sqrt_sqrt _ nonneg); apply Rmult_le_compat; try apply sqrt_pos; assumption. }
  apply (Rmult_le_reg_l (probability n (logits q) y)); [assumption|].
  replace (probability n (logits q) y
           * (INR prompts * sqrt (INR h) * eps / probability n (logits q) y))
    with (INR prompts * sqrt (INR h) * eps) by (field; lra).
  apply Rsqr_incr_0_var; [|apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|apply sqrt_pos]|
    assumption]].
  rewrite !Rsqr_mult, Rsqr_sqrt by apply pos_INR.
  rewrite Rsqr_mult in bound.
  eapply Rle_trans; [exact bound|].
  apply Rmult_le_compat_l; [|exact squares].
  apply Rmult_le_pos; [apply Rle_0_sqr|apply pos_INR].
Qed.
