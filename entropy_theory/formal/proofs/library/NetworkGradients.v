(** Entropy bounds the policy gradient of an autoregressive network (extension of AEnt, Proposition 1
    (I)).

    Responses of h tokens out of n, returns in [0, 1]. The logits at all states are any function of d
    shared parameters that has partial derivatives J at theta, with ||J' x||_2 <= G ||x||_2 for every
    x, one number for each state and token. Then the gradient of the expected return with respect to the
    parameters exists, and

        ||grad_theta V||_2 <= G H/(2 sqrt2 log 2),

    H the entropy of the response: tokens may share all their parameters. *)

From Coq Require Import Reals Lra Lia Psatz List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities Trees TreeValues TreeRates
  TreeGradientBounds.
Import ListNotations.
Open Scope R_scope.

Definition networks_bound_gradients : Prop :=
  forall (n horizon d : nat) (logits : vector -> policy) (theta : vector)
         (jacobian : nat -> state -> vector) (norm : R) (reward : state -> R),
    (1 <= n)%nat -> (1 <= horizon)%nat ->
    (forall y, length y = horizon -> 0 <= reward y <= 1) ->
    (forall j s a, (j < d)%nat -> state_of n horizon s -> (a < n)%nat ->
       derivative (fun x => logits (set_entry theta j x) s a) (theta j) (jacobian j s a)) ->
    (forall x : state -> vector,
       euclidean d (fun j =>
         sum_states n horizon (fun s => sum n (fun a => jacobian j s a * x s a)))
       <= norm * sqrt (sum_states n horizon (fun s => sum n (fun a => x s a * x s a)))) ->
    exists gradient : vector,
      (forall j, (j < d)%nat ->
         derivative (fun x => mean_responses n horizon (logits (set_entry theta j x)) reward)
           (theta j) (gradient j))
      /\ euclidean d gradient
         <= norm * response_entropy n horizon (logits theta) / (2 * sqrt 2 * ln 2).

Theorem entropy_bounds_the_gradient_of_networks : networks_bound_gradients.
Proof.
  unfold networks_bound_gradients; intros n h d logits theta jacobian norm reward some long range slopes bounded.
  set (z := logits theta); set (entries := gradient_of_value n h z reward).
  exists (fun j => sum_states n h (fun s => sum n (fun a => jacobian j s a * entries s a))); split.
  - intros j inside; apply is_derive_Reals.
    assert (set_entry theta j (theta j) = theta) as here.
    { apply functional_extensionality; intros a; unfold set_entry.
      destruct (Nat.eqb_spec a j) as [->|]; reflexivity. }
    evar_last.
    + apply (is_derive_expected_reward n h (fun x => logits (set_entry theta j x)) (jacobian j)
               (theta j) some); [|exact long].
      intros s a state a_inside; apply is_derive_Reals, slopes; assumption.
    + cbv beta; rewrite here; apply sum_states_ext; intros s _.
      unfold mean; rewrite <- sum_scal; apply sum_ext; intros a _.
      unfold entries, gradient_of_value, z; ring.
  - eapply Rle_trans; [apply bounded|].
    assert (0 <= norm) as norm_nonneg.
    { specialize (bounded (fun _ _ => 1)); cbv beta in bounded.
      set (size := sum_states n h (fun _ => sum n (fun _ => 1 * 1))) in bounded.
      assert (0 <= norm * sqrt size) as product
        by (eapply Rle_trans; [apply sqrt_pos|exact bounded]).
      assert (0 < sqrt size) as positive.
      { assert (0 < sum n (fun _ => 1 * 1)) as here by (apply sum_pos; [lia|intros; lra]).
        apply sqrt_lt_R0, (Rlt_le_trans _ _ _ here).
        apply (sum_states_ge_term n h (fun _ => sum n (fun _ => 1 * 1)) []); [intros; lra|].
        split; [simpl; lia|constructor]. }
      nra. }
    pose proof ln_2_pos; assert (0 < sqrt 2) by (apply sqrt_lt_R0; lra).
    replace (norm * response_entropy n h z / (2 * sqrt 2 * ln 2))
      with (norm * (response_entropy n h z / (2 * sqrt 2 * ln 2))) by (field; lra).
    apply Rmult_le_compat_l; [exact norm_nonneg|].
    pose proof (gradient_l2_le_entropy n h z reward some) as bound.
    specialize (bound ltac:(intros y [length_y _]; apply range, length_y)).
    pose proof (response_entropy_nonneg n h z some) as entropy_nonneg.
    pose proof (sqrt_sqrt 2 ltac:(lra)) as square.
    assert (0 < 2 * sqrt 2 * ln 2) as positive by nra.
    rewrite <- (sqrt_Rsqr (response_entropy n h z / (2 * sqrt 2 * ln 2))).
    + apply sqrt_le_1_alt, (Rmult_le_reg_l (8 * Rsqr (ln 2))); [unfold Rsqr; nra|].
      eapply Rle_trans; [exact bound|apply Req_le].
      transitivity (Rsqr (response_entropy n h z) * (2 / (sqrt 2 * sqrt 2)));
        [rewrite square|]; unfold Rsqr; field; lra.
    + apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat, positive].
Qed.
