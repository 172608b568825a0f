(** Entropy Mechanism, the form of the law in the text: R = -a e^H + b is at most its value b - a at
    H = 0, for a > 0. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities.
From Trusted.Statements.entropy_mechanism Require printed_forms.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.printed_forms.repair.
Proof.
  intros n logits a b some a_positive _.
  assert (0 <= entropy n logits) as nonneg.
  { unfold entropy; rewrite <- sum_opp; apply sum_nonneg; intros k inside.
    assert (0 < n)%nat as n_positive by lia.
    pose proof (softmax_pos n logits k n_positive).
    pose proof (ln_nonpos (softmax n logits k) ltac:(assumption) (softmax_le_1 n logits k inside)).
    rewrite Ropp_mult_distr_r; apply Rmult_le_pos; lra. }
  pose proof (exp_ineq1_le (entropy n logits)).
  assert (a * 1 <= a * exp (entropy n logits)) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.printed_forms.witness.
Proof. exists 2%nat, (fun _ => 0), 1, 1; witnessed. Qed.
