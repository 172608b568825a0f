(** OPEFO (arXiv 2605.11491), the balancing coefficient: token updates with first-order entropy changes f are
    weighted by 1 + lambda where f > 0 and by 1 - lambda where f < 0. With lambda = - sum f / sum |f| the net
    first-order change of entropy is zero, and no weight is negative. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Contributions.
From Trusted.Statements.later_work Require opefo.
Open Scope R_scope.

(** What the tokens of each action do to entropy, with update coefficients G. *)
Definition flows (n : nat) (z G : vector) : vector := fun a => - G a * excess n z a.
Definition balance (flow : vector) (n : nat) : R := - sum n flow / sum n (fun a => Rabs (flow a)).
Definition balanced_step (n : nat) (z G : vector) : vector :=
  score_step n z (fun a =>
    (1 + balance (flows n z G) n * sign_of (flows n z G a)) * G a).

Lemma sign_times x : sign_of x * x = Rabs x.
Proof.
  unfold sign_of; destruct (less 0 x) eqn:above.
  - apply is_less in above; rewrite Rabs_right by lra; ring.
  - apply is_not_less in above; destruct (less x 0) eqn:below.
    + apply is_less in below; rewrite Rabs_left by exact below; ring.
    + apply is_not_less in below; replace x with 0 by lra; rewrite Rabs_R0; ring.
Qed.

Section OneState.

Variables (n : nat) (z G : vector).
Hypothesis some : (0 < n)%nat.
Hypothesis some_flow : 0 < sum n (fun a => Rabs (flows n z G a)).

Lemma balanced : first_order n z (balanced_step n z G) = 0.
Proof.
  unfold balanced_step; rewrite first_order_score_step by exact some.
  set (l := balance (flows n z G) n); rewrite <- sum_opp.
  rewrite (sum_ext n _ (fun a => flows n z G a + l * Rabs (flows n z G a))).
  - rewrite sum_plus, sum_scal; unfold l, balance; field; lra.
  - intros a _; rewrite <- sign_times; unfold flows; ring.
Qed.

Lemma balance_bounds : -1 <= balance (flows n z G) n <= 1.
Proof.
  set (f := flows n z G) in *.
  assert (sum n f <= sum n (fun a => Rabs (f a))) by (apply sum_le; intros; apply Rle_abs).
  assert (- sum n f <= sum n (fun a => Rabs (f a))).
  { rewrite <- sum_opp; apply sum_le; intros; rewrite <- Rabs_Ropp; apply Rle_abs. }
  unfold balance; split.
  - apply (Rmult_le_reg_r (sum n (fun a => Rabs (f a)))); [assumption|].
    replace (- sum n f / sum n (fun a => Rabs (f a)) * sum n (fun a => Rabs (f a))) with (- sum n f)
      by (field; lra); lra.
  - apply (Rmult_le_reg_r (sum n (fun a => Rabs (f a)))); [assumption|].
    replace (- sum n f / sum n (fun a => Rabs (f a)) * sum n (fun a => Rabs (f a))) with (- sum n f)
      by (field; lra); lra.
Qed.

End OneState.

Lemma no_net_flow :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat -> 0 < sum n (fun a => Rabs (flows n logits step a)) ->
  - covariance n (softmax n logits) logits (balanced_step n logits step)
    / sum n (fun a => Rabs (flows n logits step a)) = 0
  /\ derivative (fun t => entropy n (fun a => logits a + t * balanced_step n logits step a)) 0 0
  /\ -1 <= balance (flows n logits step) n <= 1.
Proof.
  intros n logits step one some_flow; assert (some : (0 < n)%nat) by lia.
  pose proof (balanced n logits step some some_flow) as zero; split; [|split].
  - unfold first_order in zero; rewrite zero; unfold Rdiv; ring.
  - pose proof (first_order_is_derivative n logits (balanced_step n logits step) some) as rate.
    rewrite zero in rate; exact rate.
  - apply balance_bounds; assumption.
Qed.

Theorem proved : Statements.later_work.opefo.statement.
Proof.
  intros n logits step two some_flow.
  destruct (no_net_flow n logits step ltac:(lia) some_flow) as [zero [rate bounds]].
  split; [exact zero|split; [exact rate|]].
  apply Rabs_le; exact bounds.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.later_work.opefo.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun _ => (- (1))); witnessed.
Qed.

Theorem defined : Statements.later_work.opefo.defined.
Proof. domains. Qed.
