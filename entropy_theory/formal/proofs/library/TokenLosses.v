(** What token coefficients do to entropy: with tokens from the policy itself a coefficient s_a has the expected
    step sum_a pi_a s_a (e_a - pi), and entropy the rate - Cov_pi(s, c) = - sum_a pi_a s_a (c_a - C).

    c - C changes sign once. So the likelier ones of two sets that are ordered have a share sum pi (c - C) of at
    least zero, also with weights that rise with the logit. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons Contributions Masks OrderedRewards.
Open Scope R_scope.

(** The expected step of positives alone, per unit learning rate and unit score, and of negatives alone. *)
Definition positives_only (n : nat) (z : vector) (correct : mask) : vector := fun a =>
  only correct (softmax n z) a - total_on n correct (softmax n z) * softmax n z a.
Definition negatives_only (n : nat) (z : vector) (correct : mask) : vector := fun a =>
  - (only (complement correct) (softmax n z) a
     - total_on n (complement correct) (softmax n z) * softmax n z a).
Definition rate_of_positives (n : nat) (z : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n z a * excess n z a).
Definition rate_of_negatives (n : nat) (z : vector) (correct : mask) : R :=
  total_on n (complement correct) (fun a => softmax n z a * excess n z a).
(** 1 on a set of actions. *)
Definition indicator (A : mask) : vector := fun a => if A a then 1 else 0.

Section OneState.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let one : sum n p = 1 := softmax_sum n z some.
Let share (A : mask) : R := total_on n A (fun a => p a * excess n z a).

(** * A step for each coefficient *)

Lemma covariance_own s : covariance n p s (own_covariance n z) = sum n (fun a => p a * s a * excess n z a).
Proof.
  rewrite covariance_sym, covariance_centered_l by exact one.
  apply sum_ext; intros; unfold excess, p; ring.
Qed.

Lemma first_order_of_scores s :
  first_order n z (score_step n z (fun a => p a * s a)) = - covariance n p s (own_covariance n z).
Proof. rewrite first_order_score_step by exact some; rewrite covariance_own; reflexivity. Qed.

Lemma rate_of_scores s :
  derivative (fun t => entropy n (fun a => z a + t * score_step n z (fun b => p b * s b) a)) 0
    (- covariance n p s (own_covariance n z)).
Proof. rewrite <- first_order_of_scores; apply first_order_is_derivative, some. Qed.

(** Baselines drop out. *)
Lemma score_step_shift s b a :
  score_step n z (fun c => p c * (s c - b)) a = score_step n z (fun c => p c * s c) a.
Proof.
  unfold score_step; fold p.
  rewrite (sum_ext n (fun c => p c * (s c - b)) (fun c => p c * s c - p c * b)) by (intros; ring).
  rewrite sum_minus, sum_scal_r, one; ring.
Qed.

Lemma score_step_ext v w a :
  (a < n)%nat -> (forall b, (b < n)%nat -> v b = w b) -> score_step n z v a = score_step n z w a.
Proof. intros inside same; unfold score_step; rewrite (sum_ext n v w same), same by exact inside; ring. Qed.

Lemma covariance_indicator A : covariance n p (indicator A) (own_covariance n z) = share A.
Proof.
  rewrite covariance_own; apply sum_ext; intros a _; unfold indicator, only; destruct (A a); ring.
Qed.

Lemma score_step_indicator A a : score_step n z (fun b => p b * indicator A b) a = positives_only n z A a.
Proof.
  unfold score_step, positives_only, total_on; fold p.
  rewrite (sum_ext n (fun b => p b * indicator A b) (only A p))
    by (intros b _; unfold indicator, only; destruct (A b); ring).
  unfold indicator, only; destruct (A a); ring.
Qed.

(** What one sampled token does. *)
Lemma effect_of_token k :
  (k < n)%nat -> - covariance n p z (fun a => at_action k a - p a) = - excess n z k.
Proof.
  intros inside; pose proof (first_order_score_step n z some (at_action k)) as effect.
  assert (chosen : forall f, sum n (fun a => at_action k a * f a) = f k).
  { intros f; rewrite (sum_ext n _ (fun a => f a * at_action k a)) by (intros; ring).
    apply (mean_at_action n f k inside). }
  rewrite chosen in effect; rewrite <- effect; unfold first_order; f_equal.
  apply covariance_ext; intros a _; [reflexivity|unfold score_step].
  rewrite (sum_ext n (at_action k) (fun a => at_action k a * 1)) by (intros; ring).
  rewrite (chosen (fun _ => 1)); unfold p; ring.
Qed.

Lemma rate_of_token k x :
  (k < n)%nat ->
  derivative (fun t => entropy n (fun a => z a + t * x * (at_action k a - p a))) 0 (- x * excess n z k).
Proof.
  intros inside.
  apply derivative_ext with (f := fun t => entropy n (fun a => z a + t * (x * (at_action k a - p a)))).
  { intros t; unfold entropy; f_equal; apply sum_ext; intros b b_inside.
    rewrite (softmax_ext n _ (fun a => z a + t * x * (at_action k a - p a))) by (intros; ring || exact b_inside).
    reflexivity. }
  replace (- x * excess n z k) with (first_order n z (fun a => x * (at_action k a - p a)));
    [apply first_order_is_derivative, some|].
  unfold first_order; fold p.
  rewrite covariance_sym, covariance_scal_l, covariance_sym.
  replace (- (x * covariance n p z (fun a => at_action k a - p a)))
    with (x * - covariance n p z (fun a => at_action k a - p a)) by ring.
  rewrite effect_of_token by exact inside; ring.
Qed.

(** * Positives and negatives *)

Lemma same_step correct a : positives_only n z correct a = negatives_only n z correct a.
Proof.
  unfold positives_only, negatives_only; fold p.
  assert (total_on n (complement correct) p = 1 - total_on n correct p) as rest.
  { rewrite <- (softmax_sum n z some); fold p; rewrite <- (total_on_complement n correct p); ring. }
  rewrite rest; unfold only, complement; destruct (correct a); simpl; ring.
Qed.

Lemma rate_is_first_order correct :
  first_order n z (positives_only n z correct) = rate_of_positives n z correct.
Proof.
  transitivity (first_order n z (score_step n z (only correct p))); [reflexivity|].
  rewrite first_order_score_step by exact some; unfold rate_of_positives, total_on; f_equal.
  apply sum_ext; intros a _; unfold only; fold p; destruct (correct a); ring.
Qed.

Lemma shares_cancel A : share A + share (complement A) = 0.
Proof. unfold share; rewrite total_on_complement; apply (mean_excess n z some). Qed.

Lemma same_rate correct : rate_of_negatives n z correct = rate_of_positives n z correct.
Proof.
  pose proof (shares_cancel correct); unfold rate_of_negatives, rate_of_positives, share in *.
  fold p; lra.
Qed.

(** * Shares of the likelier ones *)

(** Either one of the less likely has c_b > C, and then all the likelier do, or none has. *)
Lemma share_of_likelier A :
  (forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = false -> z b <= z a) -> 0 <= share A.
Proof.
  intros top.
  destruct (some_on n (both (complement A) (fun a => less 0 (excess n z a)))) eqn:found.
  - apply some_on_spec in found as [b [b_inside b_member]].
    apply in_both in b_member as [b_out b_above]; apply complement_true in b_out; apply is_less in b_above.
    apply total_on_nonneg; intros a a_inside a_in.
    apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|].
    apply Rlt_le, (excess_once n z some a b); [apply top; assumption|exact b_above].
  - enough (share (complement A) <= 0) by (pose proof (shares_cancel A); lra).
    enough (0 <= - share (complement A)) by lra.
    unfold share; replace (- total_on n (complement A) (fun a => p a * excess n z a))
      with (total_on n (complement A) (fun a => p a * - excess n z a)).
    + apply total_on_nonneg; intros b b_inside b_out.
      apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|].
      destruct (Rlt_dec 0 (excess n z b)) as [above|]; [exfalso|lra].
      assert (some_on n (both (complement A) (fun a => less 0 (excess n z a))) = true); [|congruence].
      apply some_on_spec; exists b; split; [exact b_inside|].
      apply in_both; split; [exact b_out|apply is_less, above].
    + unfold total_on; rewrite <- sum_opp; apply sum_ext; intros a _; unfold only.
      destruct (complement A a); ring.
Qed.

Lemma share_of_less_likely A :
  (forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = false -> z a <= z b) -> share A <= 0.
Proof.
  intros bottom; pose proof (shares_cancel A).
  enough (0 <= share (complement A)) by lra.
  apply share_of_likelier; intros a b a_inside b_inside a_out b_in.
  apply complement_true in a_out; unfold complement in b_in; apply negb_false_iff in b_in.
  apply bottom; assumption.
Qed.

(** Weights that rise with the logit have a level at which c - C changes sign. *)
Lemma level g U :
  (forall a b, (a < n)%nat -> (b < n)%nat -> z b < z a -> g b <= g a) ->
  exists l, (forall a, (a < n)%nat -> U a = true -> 0 <= (g a - l) * excess n z a)
            /\ ((forall a, (a < n)%nat -> 0 <= g a) -> 0 <= l).
Proof.
  intros rises; set (low := both U (fun a => negb (less 0 (excess n z a)))).
  destruct (some_on n low) eqn:found.
  - apply some_on_spec in found; exists (largest_on n low g).
    destruct (largest_on_attained n low g found) as (b & b_inside & b_low & attained).
    pose proof b_low as b_member; apply in_both in b_member as [_ b_below]; apply not_less in b_below.
    split; [|rewrite attained; intros nonneg; apply nonneg, b_inside].
    intros a a_inside member; destruct (Rlt_dec 0 (excess n z a)) as [high|not_high].
    + apply Rmult_le_pos; [|lra]; rewrite attained.
      assert (z b < z a) as order.
      { destruct (Rlt_dec (z b) (z a)) as [|fails]; [assumption|].
        pose proof (excess_once n z some b a); lra. }
      pose proof (rises a b a_inside b_inside order); lra.
    + assert (g a <= largest_on n low g) as top.
      { apply largest_on_ge; [exact a_inside|]; apply in_both; split; [exact member|apply not_less; lra]. }
      replace ((g a - largest_on n low g) * excess n z a)
        with ((largest_on n low g - g a) * - excess n z a) by ring.
      apply Rmult_le_pos; lra.
  - exists (smallest n g); destruct (smallest_attained n g some) as (b & b_inside & attained).
    split; [|rewrite attained; intros nonneg; apply nonneg, b_inside].
    intros a a_inside member.
    pose proof (some_on_empty n low found a a_inside) as out; unfold low, both in out; rewrite member in out.
    simpl in out; apply negb_false_iff, is_less in out.
    pose proof (smallest_le n g a a_inside); apply Rmult_le_pos; lra.
Qed.

Lemma weighted_share g U :
  (forall a b, (a < n)%nat -> (b < n)%nat -> z b < z a -> g b <= g a) ->
  (forall a, (a < n)%nat -> 0 <= g a) -> 0 <= share U ->
  0 <= total_on n U (fun a => p a * g a * excess n z a).
Proof.
  intros rises nonneg likelier; destruct (level g U rises) as (l & signs & l_nonneg).
  replace (total_on n U (fun a => p a * g a * excess n z a))
    with (total_on n U (fun a => p a * ((g a - l) * excess n z a)) + l * share U).
  - apply Rplus_le_le_0_compat; [|apply Rmult_le_pos; auto].
    apply total_on_nonneg; intros; apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|auto].
  - unfold share; rewrite <- total_on_scal, <- total_on_plus; apply total_on_ext; intros; ring.
Qed.

(** Ordered like the policy, coefficients do not raise entropy. *)
Lemma covariance_of_rising g :
  (forall a b, (a < n)%nat -> (b < n)%nat -> z b < z a -> g b <= g a) ->
  0 <= covariance n p g (own_covariance n z).
Proof.
  intros rises; destruct (level g (fun _ => true) rises) as (l & signs & _).
  rewrite covariance_own.
  replace (sum n (fun a => p a * g a * excess n z a))
    with (sum n (fun a => p a * ((g a - l) * excess n z a)) + l * mean n p (excess n z)).
  - unfold p at 2; rewrite mean_excess by exact some; rewrite Rmult_0_r, Rplus_0_r.
    apply sum_nonneg; intros; apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|auto].
  - unfold mean; rewrite <- sum_scal, <- sum_plus; apply sum_ext; intros; ring.
Qed.

Lemma rises_of_ordered g :
  ordered_alike n g z -> forall a b, (a < n)%nat -> (b < n)%nat -> z b < z a -> g b <= g a.
Proof.
  intros ordered a b a_inside b_inside above; pose proof (ordered a b a_inside b_inside) as pair.
  destruct (Rle_dec (g b) (g a)) as [|fails]; [assumption|].
  assert (0 < (g b - g a) * (z a - z b)) by (apply Rmult_lt_0_compat; lra); lra.
Qed.

End OneState.
