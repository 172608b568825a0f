(** Entropy Mechanism, progress once entropy is near zero, as repaired: for rewards in [0, 1] low entropy
    limits the speed of further progress, not its extent, as Var(r) <= H / (4 log 2). *)

From Coq Require Import Reals Lra Lia Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities GradientBlock.
From Trusted.Statements.entropy_mechanism Require performance_after_collapse.
Open Scope R_scope.

Theorem variance_below_entropy :
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  4 * ln 2 * covariance n (softmax n logits) reward reward <= entropy n logits.
Proof.
  intros n logits reward some low high.
  assert (0 < n)%nat as n_positive by lia.
  set (p := softmax n logits).
  assert (sum n p = 1) as one by (apply softmax_sum, n_positive).
  assert (forall a, (a < n)%nat -> 0 <= p a) as nonneg
    by (intros; apply Rlt_le, softmax_pos, n_positive).
  assert (0 <= mean n p reward <= 1) as between.
  { split; [apply mean_nonneg; assumption|].
    rewrite <- (mean_const n p 1 one); apply mean_le; assumption. }
  eapply Rle_trans; [|apply (entropy_above_mass n logits reward n_positive)].
  - pose proof ln_2_pos; apply Rmult_le_compat_l; [lra|]; fold p.
    set (R := mean n p reward) in *.
    (* Above the mean a reward is at most 1 - R away from it, below it at most R. *)
    apply Rle_trans with (sum n (fun a => only (above_mean n p reward) (block n p reward) a * (1 - R)
        - only (complement (above_mean n p reward)) (block n p reward) a * R)).
    + apply sum_le; intros a inside; pose proof (block_sign n p reward nonneg a inside) as sign.
      specialize (low a inside); specialize (high a inside).
      replace (p a * (centered n p reward a * centered n p reward a))
        with (block n p reward a * centered n p reward a) by (unfold block; ring).
      unfold only, complement; unfold centered at 1; fold R.
      destruct (above_mean n p reward a); simpl; nra.
    + rewrite sum_minus, !sum_scal_r.
      fold (total_on n (above_mean n p reward) (block n p reward)).
      fold (total_on n (complement (above_mean n p reward)) (block n p reward)).
      rewrite negative_mass by exact one; unfold positive_mass; lra.
  - intros a inside; split; [apply low, inside|apply high, inside].
Qed.

(** Expected reward moves by a covariance with the motion of the logits. *)
Lemma performance_slope n z v reward :
  (0 < n)%nat ->
  derivative (fun t => mean n (softmax n (fun b => z b + t * v b)) reward) 0
    (covariance n (softmax n z) v reward).
Proof.
  intros some; apply is_derive_Reals.
  assert ((fun b => z b + 0 * v b) = z) as start
    by (apply functional_extensionality; intros; ring).
  pose proof (is_derive_mean n (fun t b => z b + t * v b) v 0 some) as slope.
  cbv beta in slope; rewrite start in slope.
  specialize (slope ltac:(intros; auto_derive; [trivial|ring]) (fun _ => reward) (fun _ => 0)
                (fun a _ => is_derive_const (reward a) 0)).
  rewrite mean_const, Rplus_0_r in slope by (apply softmax_sum, some); exact slope.
Qed.

(** The statement as generated: under the natural policy gradient performance rises at the rate Var(r), under
    the policy gradient at a rate of at most that, both at most H / (4 log 2). *)
Theorem proved : Statements.entropy_mechanism.performance_after_collapse.repair.
Proof.
  unfold Statements.entropy_mechanism.performance_after_collapse.repair,
    Statements.entropy_mechanism.performance_after_collapse.natural_rate,
    Statements.entropy_mechanism.performance_after_collapse.plain_rate.
  intros n logits reward at_least_two low high.
  assert (0 < n)%nat as some by lia.
  set (p := softmax n logits).
  assert (sum n p = 1) as one by (apply softmax_sum, some).
  split; [exact (variance_below_entropy n logits reward at_least_two low high)|].
  split; [|split].
  - replace (covariance n p reward reward) with (covariance n p (centered n p reward) reward);
      [apply performance_slope, some|].
    apply (covariance_shift_l n p (- mean n p reward)), one.
  - replace (mean n p (fun a => p a * centered n p reward a * centered n p reward a))
      with (covariance n p (fun a => p a * centered n p reward a) reward);
      [apply (performance_slope n logits (fun b => p b * centered n p reward b)), some|].
    rewrite covariance_sym, covariance_centered_l by exact one.
    apply mean_ext; intros; ring.
  - apply mean_le; intros a inside; [apply Rlt_le, softmax_pos, some|].
    pose proof (softmax_le_1 n logits a inside) as at_most_one; fold p in at_most_one.
    pose proof (Rle_0_sqr (centered n p reward a)) as square; unfold Rsqr in square.
    rewrite Rmult_assoc; set (u := centered n p reward a * centered n p reward a) in *.
    apply Rle_trans with (1 * u); [apply Rmult_le_compat_r; assumption|lra].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.performance_after_collapse.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.

Theorem defined : Statements.entropy_mechanism.performance_after_collapse.defined.
Proof. domains. Qed.
