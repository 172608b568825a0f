(** STARE (arXiv 2606.19236): more weight on right answers that are all below e^{-H} raises the rate of entropy. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions Masks TokenLosses.
From Trusted.Statements.later_work Require stare_reweighting.
Open Scope R_scope.

Theorem proved : Statements.later_work.stare_reweighting.repair.
Proof.
  intros n logits correct level two _ _ _ chosen rare; assert (some : (0 < n)%nat) by lia.
  set (selected := Statements.later_work.stare_reweighting.reweighted n logits correct level) in *.
  split.
  - change (0 < - total_on n selected (fun a => softmax n logits a * excess n logits a)).
    rewrite <- total_on_opp; apply total_on_pos; [exact chosen|]; intros a inside member.
    assert (centered n (softmax n logits) logits a < 0) as below.
    { destruct (Rlt_dec (centered n (softmax n logits) logits a) 0) as [|not_rare]; [assumption|].
      exfalso; apply rare; exists a; split; [exact inside|split; [exact member|exact not_rare]]. }
    pose proof (rare_below_mean n logits some a below); pose proof (softmax_pos n logits a some).
    replace (- (softmax n logits a * excess n logits a)) with (softmax n logits a * - excess n logits a) by ring.
    apply Rmult_lt_0_compat; lra.
  - pose proof (rate_of_scores n logits some (indicator selected)) as found.
    rewrite covariance_indicator in found by exact some; exact found.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.stare_reweighting.witness.
Proof. exists 2%nat, one_to_four, (fun a => Nat.eqb a 0), 1; witnessed. Qed.
