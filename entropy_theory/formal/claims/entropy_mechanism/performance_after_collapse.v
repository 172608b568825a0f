(** Entropy Mechanism, progress once entropy is near zero, as repaired: for rewards in [0, 1] low entropy
    limits the speed of further progress, not its extent, as Var(r) <= H / (4 log 2). *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities GradientBlock.
From Statements.entropy_mechanism Require Import performance_after_collapse.
Open Scope R_scope.

Theorem proved : repair.
Proof.
  unfold repair; intros n logits reward some low high.
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

(** Under the natural policy gradient performance rises at the rate Var(r), under the policy gradient at
    a rate of at most that: both at most H / (4 log 2). *)
Theorem speed_limit :
  forall (n : nat) (path : R -> vector) (reward : vector) (t : R),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) -> (forall a, (a < n)%nat -> reward a <= 1) ->
  let p := softmax n (path t) in
  let performance := fun s => mean n (softmax n (path s)) reward in
  let natural := covariance n p reward reward in
  let plain := mean n p (fun a => p a * (centered n p reward a * centered n p reward a)) in
  ((forall a, (a < n)%nat -> derivative (fun s => path s a) t (centered n p reward a)) ->
     derivative performance t natural)
  /\ ((forall a, (a < n)%nat -> derivative (fun s => path s a) t (p a * centered n p reward a)) ->
     derivative performance t plain)
  /\ 0 <= plain <= natural /\ natural <= entropy n (path t) / (4 * ln 2).
Proof.
  intros n path reward t some low high p performance natural plain.
  assert (0 < n)%nat as n_positive by lia.
  assert (sum n p = 1) as one by (apply softmax_sum, n_positive).
  assert (forall a, (a < n)%nat -> 0 <= p a) as nonneg
    by (intros; apply Rlt_le, softmax_pos, n_positive).
  assert (forall v, (forall a, (a < n)%nat -> derivative (fun s => path s a) t (v a)) ->
    derivative performance t (covariance n p v reward)) as slope.
  { intros v moves; apply is_derive_Reals.
    replace (covariance n p v reward) with (covariance n p v reward + mean n p (fun _ => 0))
      by (rewrite mean_const by exact one; ring).
    apply (is_derive_mean n path v t n_positive) with (f := fun _ => reward).
    - intros; apply is_derive_Reals, moves; assumption.
    - intros; apply @is_derive_const. }
  split; [|split; [|split]].
  - intros moves; replace natural with (covariance n p (centered n p reward) reward);
      [apply slope, moves|].
    unfold natural, covariance; apply mean_ext; intros a _.
    unfold centered at 1; rewrite mean_centered by exact one; ring.
  - intros moves; replace plain with (covariance n p (fun a => p a * centered n p reward a) reward);
      [apply slope, moves|].
    rewrite covariance_sym, covariance_centered_l by exact one.
    unfold plain; apply mean_ext; intros; ring.
  - split.
    + apply mean_nonneg; [exact nonneg|]; intros a inside.
      apply Rmult_le_pos; [apply nonneg, inside|apply Rle_0_sqr].
    + apply mean_le; [exact nonneg|]; intros a inside.
      rewrite <- (Rmult_1_l (centered n p reward a * centered n p reward a)) at 2.
      apply Rmult_le_compat_r; [apply Rle_0_sqr|apply softmax_le_1, inside].
  - pose proof ln_2_pos; pose proof (proved n (path t) reward some low high) as bound.
    apply Rmult_le_reg_l with (4 * ln 2); [lra|].
    replace (4 * ln 2 * (entropy n (path t) / (4 * ln 2))) with (entropy n (path t)) by (field; lra).
    exact bound.
Qed.
