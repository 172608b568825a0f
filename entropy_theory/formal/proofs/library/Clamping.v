(** The policy renormalized on a set of actions, its entropy, and what the gradient of that entropy does to
    the entropy of the whole policy. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons Contributions Divergence
  Masks.
Open Scope R_scope.

(** The policy given the kept set, and minus the gradient of its entropy. *)
Definition conditional (n : nat) (z : vector) (A : mask) : vector :=
  fun a => only A (softmax n z) a / total_on n A (softmax n z).
Definition clamped_tilt (n : nat) (z : vector) (A : mask) : vector :=
  fun a => conditional n z A a * centered n (conditional n z A) z a.

Section KeptSet.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some_kept : nonempty n A.

Let p := softmax n z.
Let mass := total_on n A p.
Let q := conditional n z A.

Lemma some_action : (0 < n)%nat.
Proof. destruct some_kept as [a [inside _]]; lia. Qed.

Lemma mass_positive : 0 < mass.
Proof.
  apply total_on_pos; [exact some_kept|intros; apply softmax_pos, some_action].
Qed.

Lemma conditional_total : sum n q = 1.
Proof.
  unfold q, conditional; rewrite sum_div; pose proof mass_positive as positive.
  unfold mass, p, total_on in positive; unfold total_on; field; lra.
Qed.

Lemma conditional_nonneg a : 0 <= q a.
Proof.
  unfold q, conditional, only; fold p; fold mass; pose proof mass_positive.
  destruct (A a); [|unfold Rdiv; lra].
  apply Rlt_le, Rdiv_lt_0_compat; [apply softmax_pos, some_action|assumption].
Qed.

Lemma softmax_on_kept a : A a = true -> p a = mass * q a.
Proof.
  intros member; unfold q, conditional, only; rewrite member; fold p; fold mass.
  pose proof mass_positive; field; lra.
Qed.

Lemma conditional_off_kept a : A a = false -> q a = 0.
Proof. intros removed; unfold q, conditional, only; rewrite removed; unfold Rdiv; ring. Qed.

(** A top set: no removed action is likelier than a kept one. *)
Hypothesis top : forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = false -> z b <= z a.

Let shift := mean n q z - mean n p z.

(** The mean over kept actions is above the mean over all. *)
Lemma shift_nonneg : 0 <= shift.
Proof.
  unfold shift.
  assert (kept_mean : mass * mean n q z = total_on n A (fun a => p a * z a)).
  { unfold mean, total_on; rewrite <- sum_scal; apply sum_ext; intros a _; unfold only.
    destruct (A a) eqn:member; [rewrite (softmax_on_kept a member); ring|].
    rewrite (conditional_off_kept a member); ring. }
  assert (all_mean : mean n p z = total_on n A (fun a => p a * z a)
                                  + total_on n (complement A) (fun a => p a * z a)).
  { unfold mean, total_on; rewrite <- sum_plus; apply sum_ext; intros a _.
    unfold only, complement; destruct (A a); simpl; ring. }
  assert (removed_mass : total_on n (complement A) p = 1 - mass).
  { unfold mass; rewrite <- (softmax_sum n z some_action); fold p; unfold total_on.
    rewrite <- sum_minus; apply sum_ext; intros a _; unfold only, complement; destruct (A a); simpl; ring. }
  assert (removed_below : total_on n (complement A) (fun a => p a * z a)
                          <= total_on n (complement A) p * mean n q z).
  { unfold total_on; rewrite <- sum_scal_r; apply sum_le; intros b b_inside.
    unfold only, complement; destruct (A b) eqn:removed; simpl; [lra|].
    apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, some_action|].
    rewrite <- (mean_const n q (z b)) by exact conditional_total.
    unfold mean; apply sum_le; intros a a_inside.
    destruct (A a) eqn:member; [|rewrite (conditional_off_kept a member); lra].
    apply Rmult_le_compat_l; [apply conditional_nonneg|apply top; assumption]. }
  rewrite removed_mass in removed_below; rewrite all_mean; lra.
Qed.

Lemma same_order a b : (a < n)%nat -> (b < n)%nat -> 0 <= (q a - q b) * (z a - z b).
Proof.
  intros a_inside b_inside.
  destruct (A a) eqn:a_kept, (A b) eqn:b_kept.
  - assert (form : (q a - q b) * (z a - z b) = / mass * ((z a - z b) * (p a - p b))).
    { rewrite !softmax_on_kept by assumption; pose proof mass_positive; field; lra. }
    rewrite form; apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat, mass_positive|].
    apply softmax_same_order, some_action.
  - rewrite (conditional_off_kept b) by assumption; pose proof (conditional_nonneg a).
    assert (z b <= z a) by (apply top; assumption).
    apply Rmult_le_pos; lra.
  - rewrite (conditional_off_kept a) by assumption; pose proof (conditional_nonneg b).
    replace ((0 - q b) * (z a - z b)) with (q b * (z b - z a)) by ring.
    assert (z a <= z b) by (apply top; assumption).
    apply Rmult_le_pos; lra.
  - rewrite !conditional_off_kept by assumption; lra.
Qed.

(** sum_K S S~ = pi(K) (E[q u^2] + D Cov(q, z)), u = z - E z given the kept set. *)
Lemma rate_nonneg : 0 <= sum n (fun a => own_covariance n z a * clamped_tilt n z A a).
Proof.
  assert (form : sum n (fun a => own_covariance n z a * clamped_tilt n z A a)
    = mass * (mean n q (fun a => q a * (centered n q z a * centered n q z a))
              + shift * covariance n q z q)).
  { rewrite covariance_centered_l by exact conditional_total.
    rewrite <- mean_scal, <- mean_plus; unfold mean at 1; rewrite <- sum_scal.
    apply sum_ext; intros a _; unfold own_covariance, clamped_tilt; fold q p.
    destruct (A a) eqn:member.
    - rewrite (softmax_on_kept a member); unfold shift, centered; ring.
    - rewrite (conditional_off_kept a member); ring. }
  rewrite form; apply Rmult_le_pos; [apply Rlt_le, mass_positive|].
  apply Rplus_le_le_0_compat.
  - apply mean_nonneg; [intros; apply conditional_nonneg|].
    intros; apply Rmult_le_pos; [apply conditional_nonneg|apply Rle_0_sqr].
  - apply Rmult_le_pos; [exact shift_nonneg|].
    apply covariance_nonneg_ordered; [exact conditional_total|intros; apply conditional_nonneg|].
    intros a b a_inside b_inside; rewrite Rmult_comm; apply same_order; assumption.
Qed.

(** The sum is the first-order change of the full entropy under the gradient of the clamped one. *)
Lemma rate_is_first_order :
  first_order n z (fun a => - clamped_tilt n z A a)
  = sum n (fun a => own_covariance n z a * clamped_tilt n z A a).
Proof.
  rewrite first_order_eq by exact some_action; rewrite <- sum_opp; apply sum_ext; intros a _.
  unfold own_covariance; ring.
Qed.

End KeptSet.

(** The entropy of the policy renormalized on a fixed set, and its slope along a direction v. *)
Definition clamped_entropy (n : nat) (z : vector) (A : mask) : R :=
  - total_on n A (fun a => conditional n z A a * ln (conditional n z A a)).

Lemma clamped_entropy_eq n z A :
  nonempty n A ->
  clamped_entropy n z A
  = ln (total_on n A (fun a => exp (z a))) - total_on n A (fun a => exp (z a) * z a)
                                             / total_on n A (fun a => exp (z a)).
Proof.
  intros some_kept.
  assert (some : (0 < n)%nat) by (destruct some_kept as [a [inside _]]; lia).
  set (Z := total_on n A (fun a => exp (z a))).
  assert (Z_positive : 0 < Z) by (apply total_on_pos; [assumption|intros; apply exp_pos]).
  pose proof (normalizer_pos n z some) as positive.
  assert (mass : total_on n A (softmax n z) = Z / sum n (fun b => exp (z b))).
  { unfold Z, total_on; rewrite <- sum_div; apply sum_ext; intros a _; unfold only, softmax.
    destruct (A a); [reflexivity|unfold Rdiv; ring]. }
  assert (share : forall a, A a = true -> conditional n z A a = exp (z a) / Z).
  { intros a member; unfold conditional, only; rewrite member, mass; unfold softmax; field; lra. }
  unfold clamped_entropy, total_on.
  rewrite (sum_ext n _ (fun a => only A (fun b => exp (z b) * z b) a / Z
                                 - ln Z / Z * only A (fun b => exp (z b)) a)).
  - rewrite sum_minus, sum_div, sum_scal; fold (total_on n A (fun b => exp (z b) * z b)).
    fold (total_on n A (fun b => exp (z b))); fold Z; field; lra.
  - intros a _; unfold only; destruct (A a) eqn:member; [|unfold Rdiv; ring].
    rewrite share, ln_div, ln_exp by (assumption || apply exp_pos); field; lra.
Qed.

Lemma is_derive_total_on n A (f : R -> vector) (g : vector) t :
  (forall a, (a < n)%nat -> is_derive (fun s => f s a) t (g a)) ->
  is_derive (fun s => total_on n A (f s)) t (total_on n A g).
Proof.
  intros each; apply (is_derive_sum n (fun s => only A (f s)) (only A g)).
  intros a inside; unfold only; destruct (A a); [apply each, inside|apply @is_derive_const].
Qed.

Lemma tilt_is_gradient n z A v :
  nonempty n A ->
  derivative (fun t => clamped_entropy n (fun a => z a + t * v a) A) 0
    (- sum n (fun a => clamped_tilt n z A a * v a)).
Proof.
  intros some_kept; apply derivative_of_is_derive.
  apply is_derive_ext with (f := fun t =>
    ln (total_on n A (fun a => exp (z a + t * v a)))
    - total_on n A (fun a => exp (z a + t * v a) * (z a + t * v a))
      / total_on n A (fun a => exp (z a + t * v a))).
  { intros t; symmetry; apply clamped_entropy_eq, some_kept. }
  assert (start : forall a, z a + 0 * v a = z a) by (intros; ring).
  set (Z := total_on n A (fun a => exp (z a))).
  set (W := total_on n A (fun a => exp (z a) * z a)).
  assert (Z_positive : 0 < Z) by (apply total_on_pos; [assumption|intros; apply exp_pos]).
  assert (Z_start : total_on n A (fun a => exp (z a + 0 * v a)) = Z).
  { apply sum_ext; intros a _; unfold only; rewrite start; reflexivity. }
  assert (W_start : total_on n A (fun a => exp (z a + 0 * v a) * (z a + 0 * v a)) = W).
  { apply sum_ext; intros a _; unfold only; rewrite start; reflexivity. }
  assert (Z_slope : is_derive (fun t => total_on n A (fun a => exp (z a + t * v a))) 0
                      (total_on n A (fun a => exp (z a) * v a))).
  { apply (is_derive_total_on n A (fun t a => exp (z a + t * v a)) (fun a => exp (z a) * v a)).
    intros a _; auto_derive; [trivial|rewrite start; ring]. }
  assert (W_slope : is_derive (fun t => total_on n A (fun a => exp (z a + t * v a) * (z a + t * v a))) 0
                      (total_on n A (fun a => exp (z a) * z a * v a + exp (z a) * v a))).
  { apply (is_derive_total_on n A (fun t a => exp (z a + t * v a) * (z a + t * v a))
             (fun a => exp (z a) * z a * v a + exp (z a) * v a)).
    intros a _; auto_derive; [trivial|rewrite start; ring]. }
  evar_last.
  - apply @is_derive_minus.
    + apply (is_derive_comp ln (fun t => total_on n A (fun a => exp (z a + t * v a))));
        [apply is_derive_ln; rewrite Z_start; exact Z_positive|exact Z_slope].
    + apply is_derive_div; [exact W_slope|exact Z_slope|rewrite Z_start; lra].
  - rewrite Z_start, W_start.
    set (Zv := total_on n A (fun a => exp (z a) * v a)).
    assert (form : sum n (fun a => clamped_tilt n z A a * v a)
                   = (total_on n A (fun a => exp (z a) * z a * v a) - W / Z * Zv) / Z).
    { pose proof (normalizer_pos n z) as positive.
      assert (some : (0 < n)%nat) by (destruct some_kept as [a [inside _]]; lia).
      specialize (positive some).
      assert (mass : total_on n A (softmax n z) = Z / sum n (fun b => exp (z b))).
      { unfold Z, total_on; rewrite <- sum_div; apply sum_ext; intros a _; unfold only, softmax.
        destruct (A a); [reflexivity|unfold Rdiv; ring]. }
      assert (share : forall a, conditional n z A a = only A (fun b => exp (z b)) a / Z).
      { intros a; unfold conditional; rewrite mass; unfold only, softmax.
        destruct (A a); field; lra. }
      assert (average : mean n (conditional n z A) z = W / Z).
      { unfold mean, W, total_on; rewrite <- sum_div; apply sum_ext; intros a _.
        rewrite share; unfold only; destruct (A a); field; lra. }
      unfold clamped_tilt, centered; rewrite average.
      unfold Zv, total_on; rewrite <- sum_scal, <- sum_minus, <- sum_div.
      apply sum_ext; intros a _; rewrite share; unfold only; destruct (A a); field; lra. }
    rewrite form; unfold scal, minus, plus, opp; simpl; unfold mult; simpl.
    assert (split : total_on n A (fun a => exp (z a) * z a * v a + exp (z a) * v a)
                    = total_on n A (fun a => exp (z a) * z a * v a) + Zv).
    { unfold Zv, total_on; rewrite <- sum_plus; apply sum_ext; intros a _; unfold only.
      destruct (A a); ring. }
    rewrite split, ?Z_start, ?W_start; field; lra.
Qed.
