(** SCOPE-RL (arXiv 2510.08141v7): where plain policy gradient does not lower entropy, negative samples drawn hotter
    have at most its rate.

    With r = pi^T/pi, which falls with the logit, and the logit y >= E z at which c - C changes sign, no term of
    sum_{wrong} pi (r - r(y))(c - C) is positive, and r(y) <= 1: Jensen's inequality. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions Calculus EntropyChange Masks OwnCovariance TokenLosses.
From Trusted.Statements.later_work Require scope_rl_negatives.
Open Scope R_scope.

Section OneState.

Variables (n : nat) (z : vector) (T : R).
Hypothesis some : (0 < n)%nat.
Hypothesis hot : 1 < T.

Let p := softmax n z.
Let q := softmax n (tempered T z).
Let one : sum n p = 1 := softmax_sum n z some.
(** 1/T - 1, and pi^T/pi at a logit. *)
Let slope := / T - 1.
Let spread := mean n p (fun a => exp (slope * z a)).
Let r (x : R) : R := exp (slope * x) / spread.

Lemma slope_negative : slope < 0.
Proof.
  unfold slope; assert (/ T < / 1) by (apply Rinv_lt_contravar; lra); rewrite Rinv_1 in *; lra.
Qed.

Lemma spread_positive : 0 < spread.
Proof.
  apply sum_pos; [exact some|]; intros; apply Rmult_lt_0_compat; [apply softmax_pos, some|apply exp_pos].
Qed.

(** Jensen's inequality. *)
Lemma spread_above : exp (slope * mean n p z) <= spread.
Proof.
  set (m := slope * mean n p z).
  replace (exp m) with (mean n p (fun a => exp m * (1 + (slope * z a - m)))).
  - apply mean_le; [intros; apply Rlt_le, softmax_pos, some|]; intros a _.
    replace (exp (slope * z a)) with (exp m * exp (slope * z a - m)) by (rewrite <- exp_plus; f_equal; ring).
    apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|].
    destruct (Req_dec (slope * z a - m) 0) as [zero|other]; [rewrite zero, exp_0; lra|].
    apply Rlt_le, exp_ineq1, other.
  - rewrite mean_scal, mean_plus, mean_const by exact one.
    rewrite mean_minus, mean_scal, mean_const by exact one; unfold m; ring.
Qed.

Lemma reweighted a : q a = p a * r (z a).
Proof.
  set (Z := sum n (fun b => exp (z b))); assert (0 < Z) as positive by exact (normalizer_pos n z some).
  assert (forall b, exp (tempered T z b) = exp (z b) * exp (slope * z b)) as each.
  { intros b; rewrite <- exp_plus; f_equal; unfold tempered, slope; field; lra. }
  assert (sum n (fun b => exp (tempered T z b)) = Z * spread) as total.
  { unfold spread, mean; rewrite <- sum_scal; apply sum_ext; intros b _; rewrite each.
    unfold p, softmax; fold Z; field; lra. }
  unfold q, r, p, softmax; rewrite total, each; fold Z; pose proof spread_positive; field; lra.
Qed.

Lemma r_falls x y : x <= y -> r y <= r x.
Proof.
  intros below; unfold r, Rdiv; apply Rmult_le_compat_r.
  - apply Rlt_le, Rinv_0_lt_compat, spread_positive.
  - pose proof slope_negative; destruct (Req_dec x y) as [->|other]; [lra|].
    apply Rlt_le, exp_increasing; nra.
Qed.

Lemma hotter A :
  0 <= total_on n A (fun a => p a * excess n z a) ->
  total_on n A (fun a => q a * excess n z a) <= total_on n A (fun a => p a * excess n z a).
Proof.
  intros rises; set (y := threshold n z).
  assert (mean_below : mean n p z <= y) by exact (mean_le_threshold n z some).
  assert (at_most : r y <= 1).
  { apply Rle_trans with (r (mean n p z)); [apply r_falls, mean_below|].
    unfold r; apply Rmult_le_reg_r with spread; [exact spread_positive|].
    pose proof spread_positive; unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra.
    exact spread_above. }
  apply Rle_trans with (r y * total_on n A (fun a => p a * excess n z a)).
  - rewrite <- total_on_scal; apply total_on_le; intros a inside _; rewrite reweighted.
    assert (sign : 0 <= (z a - y) * excess n z a) by exact (excess_sign n z some a inside).
    assert (positive : 0 < p a) by apply softmax_pos, some.
    assert (0 <= (r y - r (z a)) * excess n z a).
    { destruct (Rtotal_order (excess n z a) 0) as [low|[zero|high]].
      - assert (z a <= y) by exact (below_threshold n z a inside low).
        pose proof (r_falls (z a) y); nra.
      - rewrite zero; lra.
      - assert (y < z a) by exact (above_threshold n z some a inside high).
        pose proof (r_falls y (z a)); nra. }
    nra.
  - rewrite <- (Rmult_1_l (total_on n A _)) at 2; apply Rmult_le_compat_r; assumption.
Qed.

End OneState.

Theorem proved : Statements.later_work.scope_rl_negatives.repair.
Proof.
  intros n logits correct temperature two _ hot _ rises; assert (some : (0 < n)%nat) by lia.
  pose proof (same_rate n logits some correct) as same.
  assert (0 <= rate_of_positives n logits correct) as positives by exact rises.
  split.
  - apply (hotter n logits temperature some hot (complement correct)).
    change (0 <= rate_of_negatives n logits correct); lra.
  - pose proof (first_order_is_derivative n logits (negatives_only n logits correct) some) as found.
    replace (first_order n logits (negatives_only n logits correct))
      with (rate_of_negatives n logits correct) in found.
    { apply derivative_ext with (2 := found); intros t; apply entropy_ext; intros a _.
      unfold negatives_only, Statements.later_work.scope_rl_negatives.negatives_only, only, complement.
      destruct (correct a); reflexivity. }
    rewrite same, <- rate_is_first_order by exact some; unfold first_order; f_equal.
    apply covariance_ext; intros; [reflexivity|apply same_step, some].
Qed.

From PolicyEntropy.library Require Import Domains Witnesses.

Theorem witness : Statements.later_work.scope_rl_negatives.witness.
Proof. exists 2%nat, one_to_two, (fun a => Nat.eqb a 0), 2; witnessed. Qed.

Theorem defined : Statements.later_work.scope_rl_negatives.defined.
Proof. domains. Qed.
