(** Rewards that do not depend on the action: S_a = pi_a (log pi_a + H) crosses its mean once, so that weights that
    do not fall as the probability grows go with it. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature TemperedReinforce OwnCovariance EntropyChange.
Open Scope R_scope.

(** Weights in the order of the logits; equal logits may have any. *)
Definition in_order (n : nat) (z w : vector) : Prop :=
  forall a b, (a < n)%nat -> (b < n)%nat -> z b < z a -> w b <= w a.

Section CoinRewards.

Variables (n : nat) (z w : vector).
Hypothesis some : (0 < n)%nat.

Lemma in_order_of_smallest :
  0 <= smallest n (fun a => smallest n (fun b => (w a - w b) * (z a - z b))) -> in_order n z w.
Proof.
  intros agree a b a_inside b_inside above.
  pose proof (smallest_le n (fun a => smallest n (fun b => (w a - w b) * (z a - z b))) a a_inside) as outer.
  pose proof (smallest_le n (fun b => (w a - w b) * (z a - z b)) b b_inside) as inner.
  simpl in outer, inner; destruct (Rle_or_lt (w b) (w a)) as [|wrong]; [assumption|nra].
Qed.

Lemma fall_as_excess :
  covariance n (softmax n z) z (fun a => softmax n z a * centered n (softmax n z) w a)
  = mean n (softmax n z) (fun a => w a * excess n z a).
Proof.
  set (p := softmax n z); assert (sum n p = 1) as one by apply softmax_sum, some.
  rewrite covariance_centered_l by exact one.
  transitivity (mean n p (fun a => own_covariance n z a * centered n p w a)).
  { apply mean_ext; intros; unfold own_covariance; fold p; ring. }
  rewrite <- covariance_centered_r by exact one.
  rewrite covariance_sym, covariance_centered_r by exact one; reflexivity.
Qed.

Lemma ordered_weights_lower :
  in_order n z w -> 0 <= mean n (softmax n z) (fun a => w a * excess n z a).
Proof.
  intros order; set (p := softmax n z).
  assert (forall a, (a < n)%nat -> 0 <= p a) as p_nonneg by (intros; apply Rlt_le, softmax_pos, some).
  assert (exists level, forall a, (a < n)%nat -> 0 <= (w a - level) * excess n z a) as [level sign].
  { set (below := fun a => less (excess n z a) 0).
    destruct (some_on n below) eqn:found.
    - apply some_on_spec in found; exists (largest_on n below w); intros a inside.
      destruct (Rtotal_order (excess n z a) 0) as [negative|[zero|positive]].
      + pose proof (largest_on_ge n below w a inside (proj2 (less_true _ _) negative)); nra.
      + rewrite zero; lra.
      + assert (largest_on n below w <= w a); [|nra].
        apply largest_on_le; [assumption|]; intros b b_inside b_below; apply less_true in b_below.
        apply order; [assumption|assumption|].
        pose proof (above_threshold n z some a inside positive).
        pose proof (below_threshold n z b b_inside b_below); lra.
    - exists (smallest n w); intros a inside.
      pose proof (some_on_empty n below found a inside) as high; apply less_false in high.
      pose proof (smallest_le n w a inside); nra. }
  replace (mean n p (fun a => w a * excess n z a))
    with (mean n p (fun a => (w a - level) * excess n z a)).
  - apply mean_nonneg; assumption.
  - rewrite (mean_ext n p _ (fun a => w a * excess n z a - level * excess n z a)) by (intros; ring).
    pose proof (mean_excess n z some) as zero; fold p in zero.
    rewrite mean_minus, mean_scal; change (fun a => excess n z a) with (excess n z); rewrite zero; ring.
Qed.

Theorem ordered_weights_fall :
  in_order n z w ->
  0 <= covariance n (softmax n z) z (fun a => softmax n z a * centered n (softmax n z) w a).
Proof. intros order; rewrite fall_as_excess; apply ordered_weights_lower, order. Qed.

End CoinRewards.

(** The ratio of a sampler to the policy is in the order of what was added to the logits. *)
Lemma ratio_in_order n z s :
  (0 < n)%nat -> in_order n z s -> in_order n z (fun a => exp (log_softmax n (moved_by z s) a - log_softmax n z a)).
Proof.
  intros some order a b a_inside b_inside above; specialize (order a b a_inside b_inside above).
  rewrite !log_softmax_eq by assumption; unfold moved_by.
  apply Rge_le; destruct order as [strict|same]; [left; apply exp_increasing; lra|right; f_equal; lra].
Qed.
