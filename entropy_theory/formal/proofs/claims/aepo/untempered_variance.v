(** AEPO, Section 6.1, as repaired: on a solved state the total variance of one sample's REINFORCE gradient is
    V(T) = 1 - |q^T|^2, so that V(1) >= V(T) for T <= 1 and V(1) <= V(T) for T >= 1. As printed, with the larger
    variance at T = 1 on every state, it is false. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Variance StatementForms.
From Trusted.Statements.aepo Require untempered_variance.
Open Scope R_scope.

Theorem proved : Statements.aepo.untempered_variance.repair.
Proof.
  intros n logits correct temperature two some T_pos all.
  assert (0 < n)%nat as inhabited by lia.
  set (square := fun T => sum n (fun a => softmax n (tempered T logits) a * softmax n (tempered T logits) a)).
  assert (0 <= (temperature - 1) * (square 1 - square temperature)) as spread.
  { destruct (Rle_dec temperature 1) as [cold|hot].
    - pose proof (squares_fall n logits temperature 1 inhabited T_pos cold) as fall; fold (square 1) in fall.
      rewrite <- Rmult_opp_opp; apply Rmult_le_pos; unfold square in *; lra.
    - pose proof (squares_fall n logits 1 temperature inhabited Rlt_0_1 ltac:(lra)) as fall.
      apply Rmult_le_pos; unfold square; lra. }
  assert (square 1 = sum n (fun a => softmax n logits a * softmax n logits a)) as plain
    by (unfold square; rewrite tempered_one; reflexivity).
  pose proof (variance_on_solved_state n logits correct temperature inhabited all) as hot_variance.
  pose proof (variance_on_solved_state n logits correct 1 inhabited all) as variance_at_1.
  assert (Statements.aepo.untempered_variance.variance_without_temperature n logits correct
          = gradient_variance n logits correct 1) as untempered.
  { unfold gradient_variance; rewrite <- untempered_step_eq, tempered_one; reflexivity. }
  split; [|split].
  - rewrite (sum_ext n _ (fun a => softmax n logits a * softmax n logits a
                - softmax n (tempered temperature logits) a * softmax n (tempered temperature logits) a))
      by (intros; ring).
    rewrite sum_minus, <- plain; exact spread.
  - exact hot_variance.
  - rewrite untempered, variance_at_1.
    change (Statements.aepo.untempered_variance.variance n logits correct temperature)
      with (gradient_variance n logits correct temperature).
    rewrite hot_variance; fold (square temperature) (square 1); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.untempered_variance.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => true), 2; witnessed. Qed.

Theorem defined : Statements.aepo.untempered_variance.defined.
Proof. domains. Qed.
