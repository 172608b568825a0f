(** Entropy bounds the policy gradient of a network (extension of AEnt, Proposition 1 (I)).

    One state, n actions, rewards in [0, 1]. The logits are any function of d parameters that has partial
    derivatives J at theta, with ||J' x||_2 <= G ||x||_2 for every x, that is, of operator norm at most
    G. Then the gradient of the expected reward with respect to the parameters exists, and

        ||grad_theta V||_2 <= G H/(2 sqrt2 log 2).

    For logits that are parameters themselves G = 1, and the constant is the best one
    (extension.gradient-entropy-l2): no network's gradient survives the collapse of entropy. *)

From Coq Require Import Reals Lra Lia Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities GradientBlock.
From Trusted.Statements.extension Require gradient_entropy_network.
Open Scope R_scope.

Definition for_any_parametrization : Prop :=
  forall (n d : nat) (logits : vector -> vector) (theta : vector) (jacobian : nat -> vector)
         (norm : R) (reward : vector),
    (1 <= n)%nat ->
    (forall a, (a < n)%nat -> 0 <= reward a <= 1) ->
    (forall a j, (a < n)%nat -> (j < d)%nat ->
       derivative (fun x => logits (set_entry theta j x) a) (theta j) (jacobian a j)) ->
    (forall x, euclidean d (fun j => sum n (fun a => jacobian a j * x a)) <= norm * euclidean n x) ->
    exists gradient : vector,
      (forall j, (j < d)%nat ->
         derivative (fun x => mean n (softmax n (logits (set_entry theta j x))) reward)
           (theta j) (gradient j))
      /\ euclidean d gradient <= norm * entropy n (logits theta) / (2 * sqrt 2 * ln 2).

Theorem any_parametrization : for_any_parametrization.
Proof.
  unfold for_any_parametrization; intros n d logits theta jacobian norm reward some range slopes bounded.
  set (p := softmax n (logits theta)).
  assert (sum n p = 1) as one by (apply softmax_sum, some).
  assert (forall a, (a < n)%nat -> 0 <= p a) as nonneg
    by (intros; apply Rlt_le, softmax_pos, some).
  exists (fun j => sum n (fun a => jacobian a j * block n p reward a)); split.
  - intros j inside; apply is_derive_Reals.
    assert (forall a, (a < n)%nat ->
      is_derive (fun x => logits (set_entry theta j x) a) (theta j) (jacobian a j)) as moves
      by (intros; apply is_derive_Reals, slopes; assumption).
    pose proof (is_derive_mean n (fun x => logits (set_entry theta j x)) (fun a => jacobian a j)
                  (theta j) some moves (fun _ => reward) (fun _ => 0)) as slope.
    evar_last; [apply slope; intros; apply @is_derive_const|].
    assert (set_entry theta j (theta j) = theta) as here.
    { apply functional_extensionality; intros a; unfold set_entry.
      destruct (Nat.eqb_spec a j) as [->|]; reflexivity. }
    cbv beta; rewrite here, mean_const by exact one.
    rewrite Rplus_0_r, covariance_sym, covariance_centered_l by exact one.
    apply sum_ext; intros; unfold block; fold p; ring.
  - eapply Rle_trans; [apply bounded|].
    assert (0 <= norm) as norm_nonneg.
    { specialize (bounded (fun _ => 1)).
      assert (0 <= norm * euclidean n (fun _ => 1)) as product
        by (eapply Rle_trans; [apply sqrt_pos|exact bounded]).
      assert (0 < euclidean n (fun _ => 1)) as positive.
      { apply sqrt_lt_R0; rewrite sum_const; apply Rmult_lt_0_compat; [apply lt_0_INR|]; lra || lia. }
      nra. }
    pose proof ln_2_pos.
    assert (0 < sqrt 2) by (apply sqrt_lt_R0; lra).
    replace (norm * entropy n (logits theta) / (2 * sqrt 2 * ln 2))
      with (norm * (entropy n (logits theta) / (2 * sqrt 2 * ln 2))) by (field; lra).
    apply Rmult_le_compat_l; [exact norm_nonneg|].
    pose proof (positive_mass_nonneg n p reward one nonneg) as mass_nonneg.
    apply Rle_trans with (sqrt 2 * positive_mass n p reward).
    + unfold euclidean; rewrite <- (sqrt_square (positive_mass n p reward)) by assumption.
      rewrite <- sqrt_mult by nra.
      apply sqrt_le_1_alt, (block_l2 n p reward one nonneg).
    + pose proof (entropy_above_mass n (logits theta) reward some range) as mass.
      fold p in mass; pose proof (sqrt_sqrt 2 ltac:(lra)) as square.
      apply (Rmult_le_reg_r (2 * sqrt 2 * ln 2)); [nra|].
      replace (entropy n (logits theta) / (2 * sqrt 2 * ln 2) * (2 * sqrt 2 * ln 2))
        with (entropy n (logits theta)) by (field; lra).
      replace (sqrt 2 * positive_mass n p reward * (2 * sqrt 2 * ln 2))
        with (2 * (sqrt 2 * sqrt 2) * ln 2 * positive_mass n p reward) by ring.
      rewrite square; lra.
Qed.

(** What the claim says: the rate along any curve of logits, which is what a curve of parameters makes. *)
Theorem proved : Statements.extension.gradient_entropy_network.statement.
Proof.
  unfold Statements.extension.gradient_entropy_network.statement,
    Statements.extension.gradient_entropy_network.reward_rate.
  intros n logits velocity reward two low high.
  assert (0 < n)%nat as some by lia.
  assert (forall z, sum n (softmax n z) = 1) as one by (intros; apply softmax_sum, some).
  split.
  - set (p := softmax n logits).
    assert (forall a, (a < n)%nat -> 0 <= p a) as nonneg
      by (intros; apply Rlt_le, softmax_pos, some).
    assert (covariance n p reward velocity = sum n (fun a => block n p reward a * velocity a))
      as rate.
    { rewrite covariance_centered_l by apply one; apply sum_ext; intros; unfold block; ring. }
    pose proof (cauchy_schwarz n (block n p reward) velocity) as bound.
    rewrite <- rate in bound; unfold Rsqr at 1 in bound.
    pose proof (block_l2 n p reward (one logits) nonneg) as size.
    pose proof (entropy_above_mass n logits reward some) as mass.
    specialize (mass ltac:(intros; split; auto)); fold p in mass.
    pose proof (positive_mass_nonneg n p reward (one logits) nonneg) as mass_nonneg.
    pose proof ln_2_pos as positive.
    assert (0 <= sum n (fun a => Rsqr (velocity a))) as length
      by (apply sum_nonneg; intros; apply Rle_0_sqr).
    fold (sum n (fun a => Rsqr (velocity a))).
    change (fun a => velocity a * velocity a) with (fun a => Rsqr (velocity a)).
    set (r := covariance n p reward velocity) in *.
    set (v := sum n (fun a => Rsqr (velocity a))) in *.
    set (m := positive_mass n p reward) in *.
    set (b := sum n (fun a => Rsqr (block n p reward a))) in *.
    assert (r * r <= 2 * (m * m) * v) as short.
    { eapply Rle_trans; [exact bound|]; apply Rmult_le_compat_r; [assumption|exact size]. }
    assert ((4 * ln 2 * m) * (4 * ln 2 * m) <= entropy n logits * entropy n logits) as squares
      by (apply Rmult_le_compat; nra).
    assert (8 * ln 2 ^ 2 * r ^ 2 <= (4 * ln 2 * m) * (4 * ln 2 * m) * v) as first.
    { replace ((4 * ln 2 * m) * (4 * ln 2 * m) * v) with (8 * ln 2 ^ 2 * (2 * (m * m) * v)) by ring.
      replace (r ^ 2) with (r * r) by ring.
      apply Rmult_le_compat_l; [nra|exact short]. }
    eapply Rle_trans; [exact first|].
    replace (entropy n logits ^ 2) with (entropy n logits * entropy n logits) by ring.
    apply Rmult_le_compat_r; assumption.
  - intros path moves; apply is_derive_Reals.
    assert (forall a, (a < n)%nat -> is_derive (fun t => path t a) 0 (velocity a)) as slopes
      by (intros; apply is_derive_Reals, moves; assumption).
    pose proof (is_derive_mean n path velocity 0 some slopes (fun _ => reward) (fun _ => 0)
                  (fun a _ => is_derive_const (reward a) 0)) as slope.
    rewrite mean_const, Rplus_0_r, covariance_sym in slope by apply one; exact slope.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.gradient_entropy_network.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); witnessed. Qed.

Theorem witness_1 : Statements.extension.gradient_entropy_network.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); limits_witnessed. Qed.

Theorem defined : Statements.extension.gradient_entropy_network.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require gradient_entropy_network.
From Trusted.Conditions.extension Require gradient_entropy_network.

Theorem any_parametrization_witness : Conditions.extension.gradient_entropy_network.any_parametrization_witness.
Proof.
  exists 1%nat, 1%nat, (fun _ _ => 0), (fun _ => 0), (fun _ _ => 0), 0, (fun _ => 0).
  split; [lia|]; split; [intros; lra|]; split; [intros; apply derivable_pt_lim_const|].
  intros x; unfold euclidean at 1; simpl.
  replace (0 + (0 + 0 * x 0%nat) * (0 + 0 * x 0%nat)) with 0 by ring; rewrite sqrt_0; lra.
Qed.

Theorem any_parametrization_defined : Conditions.extension.gradient_entropy_network.any_parametrization_defined.
Proof.
  red; intros; pose proof ln_lt_2; apply nonzero_of_pos.
  repeat apply Rmult_lt_0_compat; [lra|apply sqrt_lt_R0; lra|lra].
Qed.
