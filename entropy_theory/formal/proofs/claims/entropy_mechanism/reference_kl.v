(** Entropy Mechanism, Figure 10, at one state: no policy has a larger E R - beta KL(pi || pi_ref) than pi_ref
    e^{R/beta}, renormalized, and this one keeps the share e^{-1/beta} of the reference's failures at least, and
    not all of them, if there are any.

    With q this policy, N and N_q the normalizers of the reference and of it,
    R - beta (log pi - log pi_ref) = beta (log N_q - log N) - beta (log pi - log q) at each action. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Divergence.
From Trusted.Statements.entropy_mechanism Require reference_kl.
Module Stated := Statements.entropy_mechanism.reference_kl.
Open Scope R_scope.

Section one_state.

Variables (n : nat) (z : vector) (A : mask) (beta : R).
Hypothesis some : (0 < n)%nat.
Hypothesis penalty : 0 < beta.

Let best := Stated.penalized_optimum n z A beta.
Let normalizer (x : vector) := sum n (fun b => exp (x b)).

Lemma share_positive : 0 < 1 / beta.
Proof. apply Rdiv_lt_0_compat; lra. Qed.

(** The objective is that of the best policy minus beta KL(pi || q). *)
Lemma penalized_divergence x :
  Stated.penalized n x z A beta
  = beta * (ln (normalizer best) - ln (normalizer z))
    - beta * sum n (fun a => softmax n x a * (ln (softmax n x a) - ln (softmax n best a))).
Proof.
  unfold Stated.penalized, mean, total_on.
  rewrite <- sum_scal, <- sum_minus, <- sum_scal.
  rewrite <- (Rmult_1_r (beta * (ln (normalizer best) - ln (normalizer z)))), <- (softmax_sum n x some).
  rewrite <- sum_scal, <- sum_minus; apply sum_ext; intros a _.
  change (ln (softmax n best a)) with (log_softmax n best a); change (ln (softmax n x a)) with (log_softmax n x a).
  rewrite (log_softmax_eq n best), (log_softmax_eq n z) by assumption.
  unfold best at 2, Stated.penalized_optimum, only, normalizer; destruct (A a); field; lra.
Qed.

Lemma best_is_best x : Stated.penalized n x z A beta <= Stated.penalized n best z A beta.
Proof.
  rewrite !penalized_divergence.
  assert (sum n (fun a => softmax n best a * (ln (softmax n best a) - ln (softmax n best a))) = 0) as itself.
  { rewrite (sum_ext n _ (fun _ => 0)) by (intros; ring); apply sum_zero. }
  rewrite itself.
  assert (0 <= sum n (fun a => softmax n x a * (ln (softmax n x a) - ln (softmax n best a)))) as divergence.
  { apply gibbs; [intros; apply softmax_pos, some..|]; rewrite !softmax_sum by assumption; lra. }
  pose proof (Rmult_le_pos _ _ (Rlt_le _ _ penalty) divergence); lra.
Qed.

(** Wrong actions have the same weights, over another normalizer. *)
Lemma failures x :
  (forall a, (a < n)%nat -> A a = false -> x a = z a) ->
  total_on n (complement A) (softmax n x)
  = total_on n (complement A) (fun a => exp (z a)) / normalizer x.
Proof.
  intros same; unfold total_on, Rdiv; rewrite <- sum_scal_r; apply sum_ext; intros a inside.
  unfold only, complement; destruct (A a) eqn:right; simpl; [ring|].
  unfold softmax, normalizer, Rdiv; rewrite same by assumption; reflexivity.
Qed.

Lemma best_of_wrong a : A a = false -> best a = z a.
Proof. intros wrong; unfold best, Stated.penalized_optimum; rewrite wrong; field; lra. Qed.

Lemma normalizers : normalizer z <= normalizer best <= exp (1 / beta) * normalizer z.
Proof.
  pose proof share_positive as share; unfold normalizer; split.
  - apply sum_le; intros a _; unfold best, Stated.penalized_optimum; destruct (A a).
    + apply Rlt_le, exp_increasing; lra.
    + right; f_equal; field; lra.
  - rewrite <- sum_scal; apply sum_le; intros a _; rewrite <- exp_plus.
    unfold best, Stated.penalized_optimum; destruct (A a).
    + right; f_equal; ring.
    + apply Rlt_le, exp_increasing; replace (0 / beta) with 0 by (field; lra); lra.
Qed.

Lemma failures_kept :
  exp (- 1 / beta) * total_on n (complement A) (softmax n z) <= total_on n (complement A) (softmax n best)
  /\ total_on n (complement A) (softmax n best) <= total_on n (complement A) (softmax n z).
Proof.
  rewrite (failures best), (failures z) by (intros; try apply best_of_wrong; auto).
  set (W := total_on n (complement A) (fun a => exp (z a))).
  assert (0 <= W) as nonneg.
  { apply sum_nonneg; intros a _; unfold only; destruct (complement A a); [apply Rlt_le, exp_pos|lra]. }
  pose proof (normalizer_pos n z some) as N; pose proof (normalizer_pos n best some) as N_best.
  fold (normalizer z) in N; fold (normalizer best) in N_best; destruct normalizers as [below above].
  replace (- 1 / beta) with (- (1 / beta)) by (field; lra); rewrite exp_Ropp.
  pose proof (exp_pos (1 / beta)).
  unfold Rdiv; split.
  - replace (/ exp (1 * / beta) * (W * / normalizer z)) with (W * / (exp (1 / beta) * normalizer z))
      by (unfold Rdiv; field; split; lra).
    apply Rmult_le_compat_l, Rinv_le_contravar; assumption.
  - apply Rmult_le_compat_l, Rinv_le_contravar; assumption.
Qed.

(** A right action grows, so that wrong ones lose. *)
Lemma failures_saved :
  nonempty n A -> nonempty n (complement A) ->
  0 < total_on n (complement A) (softmax n best) < total_on n (complement A) (softmax n z).
Proof.
  intros (k & inside & right) wrong.
  rewrite (failures best), (failures z) by (intros; try apply best_of_wrong; auto).
  pose proof share_positive as share; pose proof (normalizer_pos n z some) as N; fold (normalizer z) in N.
  assert (normalizer z < normalizer best) as grown.
  { apply (sum_lt _ _ _ k); [|exact inside|].
    - intros a _; unfold best, Stated.penalized_optimum; destruct (A a).
      + apply Rlt_le, exp_increasing; lra.
      + right; f_equal; field; lra.
    - apply exp_increasing; unfold best, Stated.penalized_optimum; rewrite right; lra. }
  assert (0 < total_on n (complement A) (fun a => exp (z a))) as positive
    by (apply total_on_pos; [exact wrong|intros; apply exp_pos]).
  split; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_lt_compat_l; [exact positive|].
  apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; lra|exact grown].
Qed.

End one_state.

Theorem proved : Statements.entropy_mechanism.reference_kl.statement.
Proof.
  unfold Stated.statement; intros n z A other beta several right penalty not_all.
  assert (0 < n)%nat as some by lia.
  split; [split; [apply best_is_best|apply failures_kept]; assumption|].
  apply (failures_saved n z A beta some penalty right), some_wrong, not_all.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.reference_kl.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), (fun _ => 0), 1; witnessed. Qed.

Theorem defined : Statements.entropy_mechanism.reference_kl.defined.
Proof. domains. Qed.
