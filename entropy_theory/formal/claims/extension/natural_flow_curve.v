(** Extension: along the natural policy gradient flow entropy is a function of the reward, and where it ends
    is decided by the first policy.

    With reward 1 for right responses and 0 for others, the probability p of being right is logistic in t;
    among right responses, and among wrong ones, probabilities stay in proportion. So
    H = h(p) + p H_right + (1 - p) H_wrong with the two entropies those of the first policy, and H tends to
    H_right, not to zero: within (3 + |H_wrong - H_right|) sqrt((1 - p_0)/p_0) e^{-t/2}. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeTilting TreeSets.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
  forall (n h : nat) (correct : state -> bool) (path : R -> policy) (shift : R -> state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) -> (exists y, response_of n h y /\ correct y = false) ->
  (forall t s a, 0 <= t -> state_of n h s -> (a < n)%nat ->
     derivative (fun r => path r s a) t
       (advantage n h (path t) (edge_reward h (fun y => if correct y then 1 else 0)) s a + shift t s)) ->
  let p t := response_mass n h (path t) correct in
  let H_right := entropy_within n h (path 0) correct in
  let H_wrong := entropy_within n h (path 0) (fun y => negb (correct y)) in
  forall t, 0 <= t ->
  p t = p 0 * exp t / (p 0 * exp t + (1 - p 0)) /\
  response_entropy n h (path t) = binary_entropy (p t) + p t * H_right + (1 - p t) * H_wrong /\
  Rabs (response_entropy n h (path t) - H_right)
    <= (3 + Rabs (H_wrong - H_right)) * sqrt ((1 - p 0) / p 0) * exp (- t / 2).
Proof.
  intros n h correct path shift several long [y_r [r_response r_right]] [y_w [w_response w_wrong]] moves
    p H_right H_wrong t later.
  assert (0 < n)%nat as some by lia.
  assert (natural_flow n h (fun y => if correct y then 1 else 0) path) as flow
    by (exists shift; intros; apply is_derive_Reals, moves; assumption).
  assert (0 < p 0 < 1) as mixed.
  { unfold p; pose proof (response_mass_pos n some h (path 0) correct y_r r_response r_right).
    pose proof (response_mass_pos n some h (path 0) (outside correct) y_w w_response) as wrong_pos.
    rewrite response_mass_outside in wrong_pos by assumption.
    unfold outside in wrong_pos; rewrite w_wrong in wrong_pos; specialize (wrong_pos eq_refl); lra. }
  pose proof (flow_mass n some h correct path long flow mixed t later) as mass.
  pose proof (flow_mass_range n some h correct path long flow mixed t later) as range.
  fold (p 0) (p t) in mass; fold (p t) in range.
  assert (response_entropy n h (path t) = binary_entropy (p t) + p t * H_right + (1 - p t) * H_wrong)
    as curve.
  { rewrite (entropy_chain_rule n some h (path t) correct range).
    rewrite !(flow_entropy_within n some h correct path long flow mixed t) by auto; reflexivity. }
  repeat split; [exact mass|exact curve|].
  rewrite curve; pose proof (binary_entropy_near_1 (p t) range) as last.
  set (r := sqrt (1 - p t)) in *.
  assert (0 <= r) as r_nonneg by apply sqrt_pos.
  assert (r * r = 1 - p t) as square by (apply sqrt_sqrt; lra).
  assert (r <= 1) by nra.
  assert (r <= sqrt ((1 - p 0) / p 0) * exp (- t / 2)) as fast.
  { replace (exp (- t / 2)) with (sqrt (exp (- t))).
    - unfold r; rewrite <- sqrt_mult.
      + apply sqrt_le_1_alt; rewrite mass, exp_Ropp; pose proof (exp_pos t).
        assert (0 < p 0 * exp t) by (apply Rmult_lt_0_compat; lra).
        apply Rle_trans with ((1 - p 0) / (p 0 * exp t + (1 - p 0))); [right; field; lra|].
        replace ((1 - p 0) / p 0 * / exp t) with ((1 - p 0) / (p 0 * exp t)) by (field; lra).
        apply Rmult_le_compat_l; [lra|]; apply Rinv_le_contravar; lra.
      + apply Rlt_le, Rdiv_lt_0_compat; lra.
      + apply Rlt_le, exp_pos.
    - replace (- t) with (- t / 2 + - t / 2) by field; rewrite exp_plus.
      replace ((- t / 2 + - t / 2) / 2) with (- t / 2) by field.
      apply sqrt_square, Rlt_le, exp_pos. }
  pose proof (Rabs_pos (H_wrong - H_right)) as gap_nonneg.
  rewrite Rmult_assoc; apply Rle_trans with ((3 + Rabs (H_wrong - H_right)) * r);
    [|apply Rmult_le_compat_l; lra].
  replace (binary_entropy (p t) + p t * H_right + (1 - p t) * H_wrong - H_right)
    with (binary_entropy (p t) + r * r * (H_wrong - H_right)) by (rewrite square; ring).
  apply Rle_trans with (1 := Rabs_triang _ _).
  rewrite (Rabs_pos_eq (binary_entropy (p t))) by lra; rewrite Rabs_mult, (Rabs_pos_eq (r * r)) by nra.
  assert (r * r * Rabs (H_wrong - H_right) <= r * Rabs (H_wrong - H_right))
    by (apply Rmult_le_compat_r; [assumption|nra]).
  lra.
Qed.
