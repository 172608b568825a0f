(** What each action contributes to the first-order change of entropy.

    With pi = softmax(z), c_a = pi_a (z_a - E z) = pi_a (log pi_a + H) and its mean C >= 0, a step of the
    logits that gives the action a the weighted score w_a, dz = w - (sum w) pi, changes entropy at first
    order by - sum_a w_a (c_a - C). *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (z : vector) : vector :=
  fun a => softmax n z a * centered n (softmax n z) z a.
(** c_a - C. *)
Definition excess (n : nat) (z : vector) : vector := centered n (softmax n z) (own_covariance n z).
(** The step of tokens with these weighted scores, sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (z w : vector) : vector := fun a => w a - sum n w * softmax n z a.
(** The rate of entropy along a step, - Cov_pi(z, step). *)
Definition first_order (n : nat) (z step : vector) : R := - covariance n (softmax n z) z step.

(** Not all actions have the same value. *)
Definition not_constant (n : nat) (f : vector) : Prop :=
  exists a b, (a < n)%nat /\ (b < n)%nat /\ f a < f b.

(** The vector with 1 at action k picks out the value there. *)
Definition at_action (k : nat) : vector := only (Nat.eqb k) (fun _ => 1).

Lemma mean_at_action n p k : (k < n)%nat -> mean n p (at_action k) = p k.
Proof.
  intros inside; unfold mean, at_action, only.
  induction n as [|m IH]; [lia|simpl].
  destruct (Nat.eq_dec k m) as [same|other].
  - subst m; rewrite Nat.eqb_refl, (sum_ext k _ (fun _ => 0)).
    + rewrite sum_zero; ring.
    + intros b below; destruct (Nat.eqb_spec k b); [lia|ring].
  - rewrite IH by lia; destruct (Nat.eqb_spec k m); [contradiction|ring].
Qed.

(** * The first order is the derivative *)

Lemma is_derive_line (z d : vector) a t : is_derive (fun s => z a + s * d a) t (d a).
Proof. auto_derive; [trivial|ring]. Qed.

Lemma first_order_is_derivative n z step :
  (0 < n)%nat ->
  derivative (fun t => entropy n (fun a => z a + t * step a)) 0 (first_order n z step).
Proof.
  intros some; apply derivative_of_is_derive.
  evar_last.
  - apply (is_derive_entropy n (fun t a => z a + t * step a) step 0 some).
    intros; apply is_derive_line.
  - unfold first_order; f_equal.
    rewrite covariance_log_softmax by (assumption || apply softmax_sum, some).
    assert (same : forall a, (a < n)%nat -> z a + 0 * step a = z a) by (intros; ring).
    assert (same_policy : forall a, (a < n)%nat ->
              softmax n (fun b => z b + 0 * step b) a = softmax n z a).
    { intros a inside; apply softmax_ext; assumption. }
    unfold covariance, centered, mean; apply sum_ext; intros a inside.
    rewrite !same_policy, !same by assumption.
    rewrite (sum_ext n (fun b => softmax n (fun b => z b + 0 * step b) b * (z b + 0 * step b))
               (fun b => softmax n z b * z b))
      by (intros; rewrite same_policy, same; auto).
    rewrite (sum_ext n (fun b => softmax n (fun b => z b + 0 * step b) b * step b)
               (fun b => softmax n z b * step b))
      by (intros; rewrite same_policy; auto).
    reflexivity.
Qed.

Section OneState.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let one : sum n p = 1 := softmax_sum n z some.

Lemma log_softmax_plus_entropy a :
  (a < n)%nat -> log_softmax n z a + entropy n z = centered n p z a.
Proof.
  intros inside; rewrite log_softmax_eq, entropy_eq by assumption; unfold centered, p; ring.
Qed.

(** log pi_a = z_a - constant, so that both order actions alike. *)
Lemma softmax_same_order a b : 0 <= (z a - z b) * (p a - p b).
Proof.
  destruct (Rtotal_order (z a) (z b)) as [below|[same|above]].
  - assert (p a < p b) by (apply softmax_lt; assumption).
    replace ((z a - z b) * (p a - p b)) with ((z b - z a) * (p b - p a)) by ring.
    apply Rmult_le_pos; lra.
  - rewrite same; lra.
  - assert (p b < p a) by (apply softmax_lt; assumption).
    apply Rmult_le_pos; lra.
Qed.

(** C = Cov(z, pi) >= 0: Chebyshev's sum inequality. *)
Lemma mean_own_covariance : mean n p (own_covariance n z) = covariance n p z p.
Proof.
  rewrite covariance_centered_l by exact one.
  apply mean_ext; intros; unfold own_covariance, p; ring.
Qed.

Lemma mean_own_covariance_nonneg : 0 <= mean n p (own_covariance n z).
Proof.
  rewrite mean_own_covariance; apply covariance_nonneg_ordered; [exact one| |].
  - intros; apply Rlt_le, softmax_pos, some.
  - intros; apply softmax_same_order.
Qed.

Lemma excess_eq a : excess n z a = p a * centered n p z a - mean n p (own_covariance n z).
Proof. reflexivity. Qed.

Lemma mean_excess : mean n p (excess n z) = 0.
Proof. apply mean_centered, one. Qed.

(** Below e^{-H} an action has c_a < 0 <= C ... *)
Lemma rare_below_mean a : centered n p z a < 0 -> excess n z a < 0.
Proof.
  intros rare; rewrite excess_eq.
  pose proof mean_own_covariance_nonneg.
  assert (0 < p a) by apply softmax_pos, some.
  assert (0 < p a * - centered n p z a) by (apply Rmult_lt_0_compat; lra).
  lra.
Qed.

Lemma at_most_typical_below_mean a : centered n p z a <= 0 -> excess n z a <= 0.
Proof.
  intros rare; rewrite excess_eq.
  pose proof mean_own_covariance_nonneg.
  assert (0 < p a) by apply softmax_pos, some.
  assert (0 <= p a * - centered n p z a) by (apply Rmult_le_pos; lra).
  lra.
Qed.

(** ... and so an action with c_a > C is above e^{-H}. *)
Lemma above_mean_is_likely a : 0 < excess n z a -> 0 < centered n p z a.
Proof.
  intros above; destruct (Rlt_dec 0 (centered n p z a)) as [|not_likely]; [assumption|].
  pose proof (at_most_typical_below_mean a); lra.
Qed.

(** Beyond an action whose c is at least C, likelier ones are there too: c - C changes sign once. *)
Lemma excess_once a b : z b <= z a -> 0 < excess n z b -> 0 < excess n z a.
Proof.
  intros order above; rewrite excess_eq in *.
  pose proof mean_own_covariance_nonneg.
  assert (p b <= p a) by (apply softmax_le; assumption).
  assert (0 < p b) by apply softmax_pos, some.
  unfold centered in *.
  assert (0 < z b - mean n p z).
  { destruct (Rlt_dec 0 (z b - mean n p z)) as [|not_above]; [assumption|].
    assert (0 <= p b * - (z b - mean n p z)) by (apply Rmult_le_pos; lra).
    lra. }
  assert (p b * (z b - mean n p z) <= p a * (z a - mean n p z)) by (apply Rmult_le_compat; lra).
  lra.
Qed.

Lemma excess_once_nonneg a b : z b <= z a -> 0 <= excess n z b ->
  0 <= centered n p z b -> 0 <= excess n z a.
Proof.
  intros order above likely; rewrite excess_eq in *.
  assert (p b <= p a) by (apply softmax_le; assumption).
  assert (0 < p b) by apply softmax_pos, some.
  unfold centered in *.
  assert (p b * (z b - mean n p z) <= p a * (z a - mean n p z)) by (apply Rmult_le_compat; lra).
  lra.
Qed.

(** * Shares *)

Lemma covariance_z f : covariance n p z f = mean n p (fun a => centered n p z a * f a).
Proof. apply covariance_centered_l, one. Qed.

(** The share of tokens with weighted scores w in the first-order change. *)
Lemma covariance_score_step w :
  covariance n p z (score_step n z w) = sum n (fun a => w a * excess n z a).
Proof.
  rewrite covariance_z; unfold score_step, excess, centered.
  fold p; set (C := mean n p (own_covariance n z)).
  transitivity (sum n (fun a => w a * (p a * (z a - mean n p z)))
                - sum n w * mean n p (fun a => p a * (z a - mean n p z))).
  - unfold mean; rewrite <- sum_scal, <- sum_minus; apply sum_ext; intros; fold p; ring.
  - change (mean n p (fun a => p a * (z a - mean n p z))) with C.
    rewrite <- sum_scal_r, <- sum_minus; apply sum_ext; intros.
    unfold own_covariance, centered; fold p; ring.
Qed.

Lemma first_order_score_step w :
  first_order n z (score_step n z w) = - sum n (fun a => w a * excess n z a).
Proof. unfold first_order; fold p; rewrite covariance_score_step; reflexivity. Qed.

(** Weights that sum to zero need no correction. *)
Lemma first_order_balanced w :
  sum n w = 0 -> first_order n z w = - sum n (fun a => w a * excess n z a).
Proof.
  intros balanced; rewrite <- first_order_score_step; unfold first_order; f_equal.
  apply covariance_ext; intros; [reflexivity|unfold score_step; rewrite balanced; ring].
Qed.

(** For logit steps without a correction: the natural gradient. *)
Lemma first_order_eq w :
  first_order n z w = - sum n (fun a => p a * w a * centered n p z a).
Proof.
  unfold first_order; fold p; rewrite covariance_z; unfold mean; f_equal.
  apply sum_ext; intros; ring.
Qed.

End OneState.

Lemma sum_only n A f : sum n (only A f) = total_on n A f.
Proof. reflexivity. Qed.
