(** Proofs of what the definitions must satisfy. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions Groups.
From Trusted Require Sanity.
From PolicyEntropy.library Require Import Basics Calculus Divergence Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import SampledGroups.
From PolicyEntropy.library Require RewardGroups.
Open Scope R_scope.

Theorem softmax_is_a_distribution : Trusted.Sanity.softmax_is_a_distribution.
Proof.
  intros n z some; split; [apply softmax_sum; lia|].
  intros a inside; split; [apply softmax_pos; lia|apply softmax_le_1, inside].
Qed.

Theorem entropy_is_between_0_and_log : Trusted.Sanity.entropy_is_between_0_and_log.
Proof. intros n z some; split; [apply entropy_nonneg; lia|apply entropy_at_most_log; lia]. Qed.

Lemma strictly_below p q : 0 < p -> 0 < q -> p <> q -> p * (ln q - ln p) < q - p.
Proof.
  intros p_pos q_pos other.
  assert (ln (q / p) <> 0) as moved.
  { rewrite ln_div by assumption; intros zero; apply other, ln_inv; [assumption..|lra]. }
  pose proof (exp_ineq1 _ moved) as tangent.
  rewrite exp_ln in tangent by (apply Rdiv_lt_0_compat; assumption).
  rewrite ln_div in tangent by assumption.
  apply (Rmult_lt_compat_l p) in tangent; [|assumption].
  replace (p * (q / p)) with q in tangent by (field; lra); lra.
Qed.

Theorem entropy_is_largest_at_the_uniform_policy_only :
  Trusted.Sanity.entropy_is_largest_at_the_uniform_policy_only.
Proof.
  intros n z some; assert (0 < INR n) as n_pos by (apply lt_0_INR; lia).
  assert (entropy n z - ln (INR n) = sum n (fun a => softmax n z a * (ln (/ INR n) - ln (softmax n z a)))) as gap.
  { rewrite (sum_ext n _ (fun a => softmax n z a * ln (/ INR n) - softmax n z a * ln (softmax n z a)))
      by (intros; ring).
    rewrite sum_minus, sum_scal_r, softmax_sum, ln_Rinv by (assumption || lia); unfold entropy; ring. }
  split.
  - intros largest k inside; destruct (Req_dec (softmax n z k) (/ INR n)) as [|other]; [assumption|exfalso].
    assert (sum n (fun a => softmax n z a * (ln (/ INR n) - ln (softmax n z a)))
            < sum n (fun a => / INR n - softmax n z a)) as strict.
    { apply (sum_lt n _ _ k); [|assumption|].
      - intros a _; pose proof (softmax_pos n z a ltac:(lia)); pose proof (Rinv_0_lt_compat _ n_pos).
        destruct (Req_dec (softmax n z a) (/ INR n)) as [same|apart]; [rewrite same; lra|].
        apply Rlt_le, strictly_below; assumption.
      - apply strictly_below; [apply softmax_pos; lia|apply Rinv_0_lt_compat, n_pos|assumption]. }
    rewrite sum_minus, sum_const, softmax_sum, Rinv_r in strict by (lia || lra); lra.
  - intros uniform; enough (entropy n z - ln (INR n) = 0) by lra.
    rewrite gap, (sum_ext n _ (fun _ => 0)); [apply sum_zero|].
    intros a inside; rewrite uniform by assumption; ring.
Qed.

Theorem tempering_divides_log_odds : Trusted.Sanity.tempering_divides_log_odds.
Proof.
  intros n z T a b some other; split.
  - rewrite !log_softmax_eq by lia; unfold tempered; field; exact other.
  - unfold softmax, tempered; rewrite Rdiv_1; f_equal; apply sum_ext; intros; rewrite Rdiv_1; reflexivity.
Qed.

Lemma entry_moves z k x a : is_derive (fun x => set_entry z k x a) x (if Nat.eqb a k then 1 else 0).
Proof. unfold set_entry; destruct (Nat.eqb a k); [apply @is_derive_id|apply @is_derive_const]. Qed.

Lemma sum_of_entry n k f : (k < n)%nat -> sum n (fun a => (if Nat.eqb a k then 1 else 0) * f a) = f k.
Proof.
  induction n as [|n each]; [lia|]; intros inside; cbn [sum].
  destruct (Nat.eqb_spec n k) as [->|other]; [|rewrite each by lia; ring].
  rewrite (sum_ext k _ (fun _ => 0)); [rewrite sum_zero; ring|].
  intros a below; destruct (Nat.eqb_spec a k); [lia|ring].
Qed.

Lemma same_entry z k a : set_entry z k (z k) a = z a.
Proof. unfold set_entry; destruct (Nat.eqb_spec a k) as [->|]; reflexivity. Qed.

Lemma slope_along_entry n z k f : (k < n)%nat ->
  covariance n (softmax n (set_entry z k (z k))) (fun a => if Nat.eqb a k then 1 else 0) f
  = softmax n z k * centered n (softmax n z) f k.
Proof.
  intros inside.
  assert (softmax n (set_entry z k (z k)) = softmax n z) as ->.
  { apply FunctionalExtensionality.functional_extensionality; intros a; unfold softmax; rewrite same_entry.
    f_equal; apply sum_ext; intros; rewrite same_entry; reflexivity. }
  rewrite covariance_sym, covariance_centered_l by (apply softmax_sum; lia).
  unfold mean; rewrite (sum_ext n _ (fun a => (if Nat.eqb a k then 1 else 0)
    * (softmax n z a * centered n (softmax n z) f a))) by (intros; ring).
  apply (sum_of_entry n k (fun a => softmax n z a * centered n (softmax n z) f a)), inside.
Qed.

Theorem policy_gradient_is_the_gradient_of_the_objective :
  Trusted.Sanity.policy_gradient_is_the_gradient_of_the_objective.
Proof.
  intros n z reward k inside; evar_last.
  - apply (is_derive_mean n (fun x => set_entry z k x) (fun a => if Nat.eqb a k then 1 else 0) (z k)
      ltac:(lia) (fun a _ => entry_moves z k (z k) a) (fun _ => reward) (fun _ => 0)).
    intros; apply @is_derive_const.
  - rewrite slope_along_entry, mean_const by (assumption || apply softmax_sum; lia); ring.
Qed.

Theorem entropy_gradient_is_the_gradient_of_entropy :
  Trusted.Sanity.entropy_gradient_is_the_gradient_of_entropy.
Proof.
  intros n z k inside; evar_last.
  - apply (is_derive_entropy n (fun x => set_entry z k x) (fun a => if Nat.eqb a k then 1 else 0) (z k)
      ltac:(lia) (fun a _ => entry_moves z k (z k) a)).
  - assert (log_softmax n (set_entry z k (z k)) = log_softmax n z) as ->.
    { apply FunctionalExtensionality.functional_extensionality; intros a; unfold log_softmax, softmax.
      rewrite same_entry; do 2 f_equal; apply sum_ext; intros; rewrite same_entry; reflexivity. }
    rewrite covariance_sym, slope_along_entry by assumption.
    unfold entropy_gradient, centered; rewrite entropy_log; ring.
Qed.

Theorem derivative_is_is_derive : Trusted.Sanity.derivative_is_is_derive.
Proof. intros f x l; unfold derivative; symmetry; apply is_derive_Reals. Qed.

Theorem tends_to_is_is_lim_seq : Trusted.Sanity.tends_to_is_is_lim_seq.
Proof.
  intros u l; rewrite <- is_lim_seq_spec; unfold tends_to, is_lim_seq', Hierarchy.eventually; split.
  - intros limit eps; exact (limit eps (cond_pos eps)).
  - intros limit e positive; exact (limit (mkposreal e positive)).
Qed.

Theorem limsup_at_most_is_LimSup_seq : Trusted.Sanity.limsup_at_most_is_LimSup_seq.
Proof.
  intros u l; unfold LimSup_seq; destruct (ex_LimSup_seq u) as [[s| |] found]; cbn; split.
  - intros most; destruct (Rle_dec s l) as [|above]; [assumption|exfalso].
    destruct (most ((s - l) / 2) ltac:(lra)) as [N late].
    destruct (found (mkposreal ((s - l) / 2) ltac:(lra))) as [often _]; cbn in often.
    destruct (often N) as [k [after high]]; specialize (late k after); lra.
  - intros below e positive; destruct (found (mkposreal e positive)) as [_ [N late]]; cbn in late.
    exists N; intros k after; specialize (late k after); lra.
  - intros most; destruct (most 1 ltac:(lra)) as [N late].
    destruct (found (l + 1) N) as [k [after high]]; specialize (late k after); lra.
  - intros [].
  - trivial.
  - intros _ e positive; destruct (found l) as [N late]; exists N; intros k after.
    specialize (late k after); lra.
Qed.

Theorem response_probabilities_sum_to_1 : Trusted.Sanity.response_probabilities_sum_to_1.
Proof. intros n h z some; apply probability_sum; lia. Qed.

Theorem response_entropy_is_the_sum_over_leaves : Trusted.Sanity.response_entropy_is_the_sum_over_leaves.
Proof. intros n h z some; split; [reflexivity|apply response_entropy_states; lia]. Qed.

Theorem tree_gradient_is_the_gradient_of_the_objective :
  Trusted.Sanity.tree_gradient_is_the_gradient_of_the_objective.
Proof. intros n h z reward s a some inside token; apply is_derive_expected_reward_logit; (assumption || lia). Qed.

Theorem members_of_a_group_are_drawn_from_the_policy : Trusted.Sanity.members_of_a_group_are_drawn_from_the_policy.
Proof. intros n G z f some; split; [apply probability_sum|apply mean_of_total]; lia. Qed.

Theorem members_of_a_group_are_independent : Trusted.Sanity.members_of_a_group_are_independent.
Proof.
  intros n G z f others some; rewrite mean_responses_first; unfold mean; rewrite <- sum_scal_r.
  apply sum_ext; intros a _; unfold after; cbn [hd tl]; rewrite mean_responses_scal; ring.
Qed.

Lemma score_of_one n z direction b : (b < n)%nat ->
  sum n (fun a => direction a * ((if Nat.eqb a b then 1 else 0) - softmax n z a)) = centered n (softmax n z) direction b.
Proof.
  intros inside; unfold centered, mean.
  rewrite (sum_ext n _ (fun a => direction a * (if Nat.eqb a b then 1 else 0) - softmax n z a * direction a))
    by (intros; ring).
  rewrite sum_minus, sum_single by exact inside; reflexivity.
Qed.

Theorem estimate_along_is_an_inner_product : Trusted.Sanity.estimate_along_is_an_inner_product.
Proof.
  intros n G z advantage direction g [size inside]; unfold estimate_along; rewrite size; clear size.
  rewrite <- (sum_ext n (fun a => / INR G * (direction a * total_over g (fun b =>
    advantage b * ((if Nat.eqb a b then 1 else 0) - softmax n z a))))), sum_scal by (intros; ring).
  f_equal; induction inside as [|b rest member _ IH]; cbn [total_over].
  - rewrite (sum_ext n _ (fun _ => 0)), sum_zero by (intros; ring); reflexivity.
  - rewrite (sum_ext n _ (fun a => advantage b * (direction a * ((if Nat.eqb a b then 1 else 0) - softmax n z a))
      + direction a * total_over rest (fun b => advantage b * ((if Nat.eqb a b then 1 else 0) - softmax n z a))))
      by (intros; ring).
    rewrite sum_plus, sum_scal, score_of_one, IH by exact member; reflexivity.
Qed.

Theorem baselines_are_means : Trusted.Sanity.baselines_are_means.
Proof.
  intros reward g several; assert (2 <= INR (length g)) by (apply (le_INR 2) in several; simpl in several; lra).
  split; [|intros b; unfold with_mean_of_others, with_group_mean; field; lra].
  unfold with_group_mean; rewrite RewardGroups.total_over_minus, total_over_const; field; lra.
Qed.
