(** Covariances of a reward that is ordered like the policy: positive, for the natural and for the plain
    policy gradient. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions Masks.
Open Scope R_scope.

(** No likelier action has a smaller reward. *)
Definition ordered_alike (n : nat) (f g : vector) : Prop :=
  forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= (f a - f b) * (g a - g b).

(** If a sum of terms of one sign is not positive, all of them vanish. *)
Lemma terms_vanish n f a :
  (forall b, (b < n)%nat -> 0 <= f b) -> sum n f <= 0 -> (a < n)%nat -> f a = 0.
Proof.
  intros nonneg small inside.
  pose proof (sum_ge_term n f a nonneg inside); specialize (nonneg a inside); lra.
Qed.

(** The hypothesis of the statement, for all pairs. *)
Lemma ordered_pairs n (f : nat -> nat -> R) :
  0 <= smallest n (fun a => smallest n (f a)) -> forall a b, (a < n)%nat -> (b < n)%nat -> 0 <= f a b.
Proof.
  intros nonneg a b a_inside b_inside.
  pose proof (smallest_le n (fun a => smallest n (f a)) a a_inside) as row; cbv beta in row.
  pose proof (smallest_le n (f a) b b_inside); lra.
Qed.

Section OneState.

Variables (n : nat) (z reward : vector).
Hypothesis some : (0 < n)%nat.
Hypothesis ordered : ordered_alike n reward z.
Hypothesis not_uniform : 0 < largest n z - smallest n z.
Hypothesis not_same_reward : 0 < largest n reward - smallest n reward.

Let p := softmax n z.
Let one : sum n p = 1 := softmax_sum n z some.
Let positive a : 0 < p a := softmax_pos n z a some.

(** A value that all rewards share contradicts the hypothesis. *)
Lemma not_all_equal rho : (forall a, (a < n)%nat -> reward a = rho) -> False.
Proof.
  intros all.
  destruct (largest_attained n reward some) as [a [a_inside a_top]].
  destruct (smallest_attained n reward some) as [b [b_inside b_low]].
  rewrite (all a a_inside) in a_top; rewrite (all b b_inside) in b_low; lra.
Qed.

(** Chebyshev's sum inequality, strict. *)
Lemma natural_positive : 0 < covariance n p z reward.
Proof.
  destruct (Rlt_dec 0 (covariance n p z reward)) as [|fails]; [assumption|exfalso].
  assert (pairs : sum n (fun a => sum n (fun b =>
            p a * p b * ((z a - z b) * (reward a - reward b)))) <= 0).
  { rewrite <- covariance_pairs by exact one; lra. }
  assert (nonneg : forall a b, (a < n)%nat -> (b < n)%nat ->
            0 <= p a * p b * ((z a - z b) * (reward a - reward b))).
  { intros a b a_inside b_inside; apply Rmult_le_pos.
    - apply Rlt_le, Rmult_lt_0_compat; apply positive.
    - rewrite Rmult_comm; apply ordered; assumption. }
  assert (tied : forall a b, (a < n)%nat -> (b < n)%nat -> z a <> z b -> reward a = reward b).
  { intros a b a_inside b_inside different.
    assert (row : sum n (fun b => p a * p b * ((z a - z b) * (reward a - reward b))) = 0).
    { apply (terms_vanish n (fun a => sum n (fun b =>
          p a * p b * ((z a - z b) * (reward a - reward b))))); [|exact pairs|exact a_inside].
      intros; apply sum_nonneg; intros; apply nonneg; assumption. }
    assert (term : p a * p b * ((z a - z b) * (reward a - reward b)) = 0).
    { apply (terms_vanish n (fun b => p a * p b * ((z a - z b) * (reward a - reward b))));
        [intros; apply nonneg; assumption|rewrite row; lra|exact b_inside]. }
    apply Rmult_integral in term as [weight|product].
    - pose proof (positive a); pose proof (positive b).
      apply Rmult_integral in weight as [|]; lra.
    - apply Rmult_integral in product as [|]; lra. }
  destruct (largest_attained n z some) as [t [t_inside top]].
  destruct (smallest_attained n z some) as [b [b_inside low]].
  apply (not_all_equal (reward b)); intros a a_inside.
  destruct (Req_dec (z a) (z b)) as [same|different].
  - rewrite (tied a t), (tied b t); auto; lra.
  - apply tied; assumption.
Qed.

(** The plain covariance: actions with c_a > C lie above all others, so that no term of
    E[(r - rho)(c - C)] is negative for the largest reward rho of the others. *)
Definition above : mask := fun a => less 0 (excess n z a).

Lemma above_spec a : above a = true <-> 0 < excess n z a.
Proof. unfold above, less; destruct (Rlt_dec 0 (excess n z a)); split; auto; discriminate. Qed.

Lemma not_above_spec a : complement above a = true <-> excess n z a <= 0.
Proof.
  unfold complement, above, less; destruct (Rlt_dec 0 (excess n z a)); simpl;
    split; intros given; try discriminate given; try reflexivity; lra.
Qed.

Lemma lowest_is_below_mean b : (b < n)%nat -> z b = smallest n z -> centered n p z b < 0.
Proof.
  intros b_inside low; unfold centered.
  destruct (largest_attained n z some) as [t [t_inside top]].
  enough (mean n p (fun _ => z b) < mean n p z) as strict
    by (rewrite mean_const in strict by exact one; lra).
  apply (sum_lt _ _ _ t); [|exact t_inside|].
  - intros a a_inside; apply Rmult_le_compat_l; [apply Rlt_le, positive|].
    rewrite low; apply smallest_le, a_inside.
  - apply Rmult_lt_compat_l; [apply positive|lra].
Qed.

Lemma some_not_above : nonempty n (complement above).
Proof.
  destruct (smallest_attained n z some) as [b [b_inside low]].
  exists b; split; [exact b_inside|]; apply not_above_spec, Rlt_le, rare_below_mean; [exact some|].
  apply lowest_is_below_mean; auto.
Qed.

Lemma some_above : exists a, (a < n)%nat /\ 0 < excess n z a.
Proof.
  destruct (some_on n above) eqn:found.
  - apply some_on_spec in found as [a [inside member]]; exists a; split; [exact inside|].
    apply above_spec, member.
  - exfalso.
    destruct (smallest_attained n z some) as [b [b_inside low]].
    assert (excess n z b < 0)
      by (apply rare_below_mean; [exact some|apply lowest_is_below_mean; auto]).
    enough (sum n (fun a => p a * excess n z a) < sum n (fun _ => 0)) as negative.
    { rewrite sum_zero in negative.
      pose proof (mean_excess n z some) as zero; unfold mean in zero; fold p in zero; lra. }
    apply (sum_lt _ _ _ b); [|exact b_inside|].
    + intros a a_inside.
      assert (excess n z a <= 0).
      { destruct (Rlt_dec 0 (excess n z a)) as [high|]; [exfalso|lra].
        assert (some_on n above = true)
          by (apply some_on_spec; exists a; split; [exact a_inside|apply above_spec, high]).
        congruence. }
      assert (0 <= p a * - excess n z a) by (apply Rmult_le_pos; [apply Rlt_le, positive|lra]).
      lra.
    + assert (0 < p b * - excess n z b) by (apply Rmult_lt_0_compat; [apply positive|lra]).
      lra.
Qed.

Lemma plain_positive : 0 < covariance n p reward (own_covariance n z).
Proof.
  destruct (Rlt_dec 0 (covariance n p reward (own_covariance n z))) as [|fails];
    [assumption|exfalso].
  set (rho := largest_on n (complement above) reward).
  assert (form : covariance n p reward (own_covariance n z)
                 = sum n (fun a => p a * ((reward a - rho) * excess n z a))).
  { rewrite covariance_sym, covariance_centered_l by exact one.
    change (centered n p (own_covariance n z)) with (excess n z).
    transitivity (sum n (fun a => p a * (excess n z a * reward a)) - rho * mean n p (excess n z)).
    - unfold p; rewrite mean_excess by exact some; unfold mean; ring.
    - unfold mean; rewrite <- sum_scal, <- sum_minus; apply sum_ext; intros; ring. }
  assert (sides : forall a, (a < n)%nat -> 0 <= (reward a - rho) * excess n z a).
  { intros a a_inside; destruct (Rlt_dec 0 (excess n z a)) as [high|low].
    - apply Rmult_le_pos; [|lra].
      destruct (largest_on_attained n (complement above) reward some_not_above)
        as [b [b_inside [b_low attained]]].
      unfold rho; rewrite attained; apply not_above_spec in b_low.
      assert (z b < z a).
      { destruct (Rlt_dec (z b) (z a)) as [|fails_too]; [assumption|].
        pose proof (excess_once n z some b a); lra. }
      pose proof (ordered a b a_inside b_inside) as pair.
      destruct (Rle_dec (reward b) (reward a)) as [|wrong]; [lra|].
      assert (0 < (reward b - reward a) * (z a - z b)) by (apply Rmult_lt_0_compat; lra).
      lra.
    - assert (reward a <= rho)
        by (apply largest_on_ge; [exact a_inside|apply not_above_spec; lra]).
      replace ((reward a - rho) * excess n z a) with ((rho - reward a) * - excess n z a) by ring.
      apply Rmult_le_pos; lra. }
  assert (tied : forall a, (a < n)%nat -> excess n z a <> 0 -> reward a = rho).
  { intros a a_inside strict.
    assert (term : p a * ((reward a - rho) * excess n z a) = 0).
    { apply (terms_vanish n (fun a => p a * ((reward a - rho) * excess n z a)));
        [|lra|exact a_inside].
      intros b b_inside; apply Rmult_le_pos; [apply Rlt_le, positive|apply sides, b_inside]. }
    pose proof (positive a); apply Rmult_integral in term as [|product]; [lra|].
    apply Rmult_integral in product as [|]; lra. }
  destruct (largest_attained n z some) as [t [t_inside top]].
  destruct (smallest_attained n z some) as [b [b_inside low]].
  assert (top_tied : forall a, (a < n)%nat -> z a = z t -> reward a = rho).
  { intros a a_inside same; apply tied; [exact a_inside|].
    destruct some_above as [s [s_inside high]].
    enough (0 < excess n z a) by lra.
    apply (excess_once n z some a s); [|exact high].
    rewrite same, <- top; apply largest_ge, s_inside. }
  assert (low_tied : forall a, (a < n)%nat -> z a = z b -> reward a = rho).
  { intros a a_inside same; apply tied; [exact a_inside|].
    enough (excess n z a < 0) by lra.
    apply rare_below_mean; [exact some|apply lowest_is_below_mean; [exact a_inside|lra]]. }
  apply (not_all_equal rho); intros a a_inside.
  assert (z b <= z a) by (rewrite <- low; apply smallest_le, a_inside).
  assert (z a <= z t) by (rewrite <- top; apply largest_ge, a_inside).
  destruct (Req_dec (z a) (z b)) as [same|other]; [apply low_tied; assumption|].
  destruct (Req_dec (z a) (z t)) as [same|other_too]; [apply top_tied; assumption|].
  pose proof (ordered a b a_inside b_inside) as above_b.
  pose proof (ordered t a t_inside a_inside) as below_t.
  rewrite (low_tied b) in above_b by auto; rewrite (top_tied t) in below_t by auto.
  destruct (Rtotal_order (reward a) rho) as [less_than|[same|more_than]]; [exfalso|exact same|exfalso].
  - assert (0 < (rho - reward a) * (z a - z b)) by (apply Rmult_lt_0_compat; lra); lra.
  - assert (0 < (reward a - rho) * (z t - z a)) by (apply Rmult_lt_0_compat; lra); lra.
Qed.

End OneState.

(** * Theorem 1's covariance, Cov(log pi, pi A), is that of the reward and c *)

Lemma plain_covariance_eq n z reward :
  (0 < n)%nat ->
  covariance n (softmax n z) (log_softmax n z)
    (fun a => softmax n z a * centered n (softmax n z) reward a)
  = covariance n (softmax n z) reward (own_covariance n z).
Proof.
  intros some; pose proof (softmax_sum n z some) as one.
  rewrite covariance_log_softmax by assumption.
  rewrite covariance_centered_l, (covariance_centered_l _ _ reward) by exact one.
  apply mean_ext; intros; unfold own_covariance; ring.
Qed.

(** Theorem 2's, Cov(log pi, A), is that of the logits and the reward. *)
Lemma natural_covariance_eq n z reward :
  (0 < n)%nat ->
  covariance n (softmax n z) (log_softmax n z) (centered n (softmax n z) reward)
  = covariance n (softmax n z) z reward.
Proof.
  intros some; pose proof (softmax_sum n z some) as one.
  rewrite covariance_log_softmax by assumption.
  rewrite (covariance_sym n (softmax n z) z), (covariance_sym n (softmax n z) z).
  apply (covariance_shift_l n (softmax n z) (- mean n (softmax n z) reward) reward z one).
Qed.
