(** CE-GPPO (arXiv 2509.20712): what is said of the four classes of tokens holds with the border z+ at which c - C
    changes sign, which is not below the mean logit and not above the largest. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Masks OwnCovariance TokenLosses.
From Trusted.Statements.later_work Require ce_gppo_classes.
Open Scope R_scope.

Theorem proved : Statements.later_work.ce_gppo_classes.repair.
Proof.
  intros n logits two; assert (some : (0 < n)%nat) by lia.
  set (border := Statements.later_work.ce_gppo_classes.crossing n logits).
  split; [|split].
  - intros a inside.
    assert (effect : Statements.later_work.ce_gppo_classes.effect_of_sample n logits a
                     = - Contributions.excess n logits a)
      by exact (effect_of_token n logits some a inside).
    assert (sign : 0 <= (logits a - border) * Contributions.excess n logits a)
      by exact (excess_sign n logits some a inside).
    rewrite effect.
    destruct (less 0 (logits a - border)) eqn:over.
    + apply is_less in over.
      destruct (less (logits a - border) 0) eqn:under; [apply is_less in under; lra|].
      rewrite Ropp_involutive; apply Rmult_le_reg_l with (logits a - border); lra.
    + apply is_not_less in over.
      destruct (less (logits a - border - 1) 0) eqn:under; [|apply is_not_less in under; lra].
      destruct (Rtotal_order (logits a) border) as [below|[same|above]]; [| |lra].
      * assert (Contributions.excess n logits a <= 0); [|lra].
        apply Rmult_le_reg_l with (border - logits a); lra.
      * destruct (Rlt_dec 0 (Contributions.excess n logits a)) as [high|]; [|lra].
        pose proof (above_threshold n logits some a inside high) as strictly.
        change (threshold n logits) with border in strictly; lra.
  - pose proof (mean_le_threshold n logits some) as low; change (threshold n logits) with border in low; lra.
  - enough (border <= largest n logits) by lra.
    unfold border, Statements.later_work.ce_gppo_classes.crossing.
    set (f := fun a => if less _ 0 then logits a else _).
    destruct (largest_attained n f some) as (a & inside & attained); rewrite attained; unfold f.
    destruct (less _ 0); [apply largest_ge, inside|].
    rewrite ?Rplus_0_r; apply mean_le_largest; [intros; apply Rlt_le, softmax_pos, some|apply softmax_sum, some].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.ce_gppo_classes.witness.
Proof. exists 2%nat, (fun _ => 0); witnessed. Qed.
