(** Extension of Entropy Mechanism, Lemma 1, and AEPO, Theorem 4.3, to any displacement of the logits: a remainder
    in which each logit counts as much as its token's probability.

    The bound (1/4)(1 + log n) ||d||^2 counts the logits of tokens that are never sampled like the others. With
    u = d - E d, V = Var_pi(d) = E u^2, l = log pi + H, c = Cov_pi(log pi, d) and M = max u,

        |H(z + d) - H(z) + c| <= (e^M/2) {V + E[|l| u^2] + V |c|},

    for every n, policy and displacement: no ||d||^2, no log n. Only M is not weighted by the policy; it is the
    largest move upwards, and tends to 0 with the displacement. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics Masks Tilt Curvature EntropyChange SecondOrder WeightedRemainder.
From Trusted.Statements.extension Require weighted_remainder.
Open Scope R_scope.

Definition first_order (n : nat) (logits step : vector) : R :=
  - covariance n (softmax n logits) (log_softmax n logits) step.
Definition variance (n : nat) (p step : vector) : R := covariance n p step step.
(** max (d - E d) *)
Definition largest_rise (n : nat) (p step : vector) : R := largest n (centered n p step).
(** V + E[|l| u^2] + V |c| *)
Definition weighted_square (n : nat) (logits step : vector) : R :=
  let p := softmax n logits in
  let u := centered n p step in
  variance n p step
  + mean n p (fun a => Rabs (log_softmax n logits a + entropy n logits) * (u a * u a))
  + variance n p step * Rabs (first_order n logits step).

(** The factor 1/2 is the best: at the uniform policy of two actions, for small steps, it is attained. *)
Theorem constant_from_below :
  forall C : R,
  (forall logits step,
     Rabs (entropy_change 2 logits step - first_order 2 logits step)
     <= C * (exp (largest_rise 2 (softmax 2 logits) step) * weighted_square 2 logits step)) ->
  1 / 2 <= C.
Proof.
  intros C bound.
  set (z := fun _ : nat => 0); set (d := fun a => match a with 0%nat => 1 | _ => -1 end).
  assert (softmax 2 z 0%nat = 1 / 2) as p0 by (unfold softmax, z; simpl; rewrite exp_0; field).
  assert (softmax 2 z 1%nat = 1 / 2) as p1 by (unfold softmax, z; simpl; rewrite exp_0; field).
  assert (forall f, mean 2 (softmax 2 z) f = (f 0%nat + f 1%nat) / 2) as means
    by (intros; unfold mean; simpl; rewrite p0, p1; field).
  assert (forall t a, centered 2 (softmax 2 z) (fun b => t * d b) a = t * d a) as centers
    by (intros; unfold centered; rewrite means; unfold d; field).
  assert (forall t, variance 2 (softmax 2 z) (fun b => t * d b) = t ^ 2) as variances.
  { intros t; unfold variance; rewrite variance_of_centered, means, !centers; unfold d; field. }
  assert (forall f, covariance 2 (softmax 2 z) (log_softmax 2 z) f = 0) as none.
  { intros f; unfold covariance; rewrite means; unfold centered; rewrite !means; unfold log_softmax.
    rewrite p0, p1; field. }
  assert (entropy 2 z = - ln (1 / 2)) as even by (unfold entropy; simpl; rewrite p0, p1; field).
  assert (forall t, weighted_square 2 z (fun b => t * d b) = t ^ 2) as squares.
  { intros t; unfold weighted_square, first_order; rewrite variances, means, none, even.
    unfold log_softmax; rewrite p0, p1, Ropp_0, Rabs_R0.
    replace (ln (1 / 2) + - ln (1 / 2)) with 0 by ring; rewrite Rabs_R0; field. }
  assert (forall t, 0 < t -> largest_rise 2 (softmax 2 z) (fun b => t * d b) <= t) as rises.
  { intros t t_pos; unfold largest_rise.
    destruct (largest_attained 2 (centered 2 (softmax 2 z) (fun b => t * d b)) ltac:(lia)) as (a & _ & ->).
    rewrite centers; unfold d; destruct a; lra. }
  assert (0 <= C) as C_nonneg.
  { specialize (bound z (fun b => 1 * d b)); rewrite squares in bound.
    pose proof (Rabs_pos (entropy_change 2 z (fun b => 1 * d b) - first_order 2 z (fun b => 1 * d b))).
    pose proof (exp_pos (largest_rise 2 (softmax 2 z) (fun b => 1 * d b))).
    apply Rmult_le_reg_r with (exp (largest_rise 2 (softmax 2 z) (fun b => 1 * d b))); lra. }
  assert (forall T, 0 < T <= 1 -> 1 <= 2 * C * exp T) as small.
  { intros T T_small.
    assert (Rabs (quadratic_form 2 z (fun b => T * d b)) <= T ^ 2 * (2 * C * exp T)) as curvature.
    { apply constant_above_curvature; [lia|]; intros t inside.
      specialize (bound z (fun b => t * (T * d b))).
      unfold first_order, Rminus in bound; rewrite Ropp_involutive in bound.
      apply Rle_trans with (1 := bound).
      assert (0 < t * T) as product by (apply Rmult_lt_0_compat; lra).
      assert ((fun b => t * (T * d b)) = (fun b => t * T * d b)) as same
        by (apply functional_extensionality; intros; ring).
      assert (weighted_square 2 z (fun b => t * (T * d b)) = (t * T) ^ 2) as square
        by (rewrite same; apply squares).
      assert (largest_rise 2 (softmax 2 z) (fun b => t * (T * d b)) <= T) as rise.
      { rewrite same; apply Rle_trans with (1 := rises (t * T) product); nra. }
      rewrite square.
      assert (exp (largest_rise 2 (softmax 2 z) (fun b => t * (T * d b))) <= exp T) as growth
        by (apply exp_nondecreasing, rise).
      assert (0 <= C * (t * T) ^ 2) by (apply Rmult_le_pos; [assumption|apply pow2_ge_0]).
      replace (t ^ 2 * (T ^ 2 * (2 * C * exp T)) / 2) with (C * (t * T) ^ 2 * exp T) by field.
      replace (C * (exp (largest_rise 2 (softmax 2 z) (fun b => t * (T * d b))) * (t * T) ^ 2))
        with (C * (t * T) ^ 2 * exp (largest_rise 2 (softmax 2 z) (fun b => t * (T * d b)))) by ring.
      apply Rmult_le_compat_l; assumption. }
    assert (quadratic_form 2 z (fun b => T * d b) = - T ^ 2) as curve.
    { unfold quadratic_form; rewrite covariance_eq by (apply softmax_sum; lia).
      rewrite !means, !centers; unfold z, d; field. }
    rewrite curve, Rabs_Ropp, Rabs_pos_eq in curvature by apply pow2_ge_0.
    apply Rmult_le_reg_l with (T ^ 2); [apply pow_lt; lra|lra]. }
  apply Rnot_lt_le; intros less.
  assert (0 < C) as C_pos by (specialize (small 1 ltac:(lra)); pose proof (exp_pos 1); nra).
  set (T := Rmin 1 (- ln (2 * C) / 2)).
  assert (ln (2 * C) < 0) as negative by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (0 < T <= 1) as inside by (split; [apply Rmin_glb_lt; lra|apply Rmin_l]).
  specialize (small T inside).
  assert (exp T <= exp (- ln (2 * C) / 2)) as growth by (apply exp_nondecreasing, Rmin_r).
  assert (2 * C * exp (- ln (2 * C) / 2) < 1) as strict; [|nra].
  rewrite <- (exp_ln (2 * C)) at 1 by lra.
  rewrite <- exp_plus, <- exp_0; apply exp_increasing; lra.
Qed.

Theorem proved : Statements.extension.weighted_remainder.statement.
Proof.
  intros n logits step many; split.
  - pose proof (weighted_remainder n logits step ltac:(lia) (largest_rise n (softmax n logits) step)
                  ltac:(intros; apply largest_ge; assumption)) as bound.
    rewrite Rabs_Ropp; unfold Rminus; rewrite Ropp_involutive; unfold largest_rise in bound; lra.
  - intros two; assert (n = 2%nat) as -> by (assert (n <= 2)%nat by (apply INR_le; simpl; lra); lia).
    exact constant_from_below.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.weighted_remainder.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.

Theorem witness_1 : Statements.extension.weighted_remainder.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun _ => 0); do 2 (split; [witnessed|]); exists (1 / 2); intros z d.
  eapply Rle_trans; [apply (proved 2%nat z d ltac:(lia))|apply Req_le; field].
Qed.
