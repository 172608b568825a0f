(** EntroPIC (arXiv 2511.15248), rewards 1 and -1: weights 1 + alpha of right and 1 - alpha of wrong answers do not
    change the expected step; on likely tokens alone alpha lowers entropy. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Contributions TokenLosses.
From Trusted.Statements.later_work Require entropic.
Open Scope R_scope.

Theorem proved : Statements.later_work.entropic.statement.
Proof.
  intros n logits correct threshold two _ _ _; assert (some : (0 < n)%nat) by lia.
  set (likely := Statements.later_work.entropic.likely n logits threshold).
  split; [|split].
  - enough (0 <= total_on n likely (fun a => softmax n logits a * excess n logits a)) as share.
    { change (0 <= - - total_on n likely (fun a => softmax n logits a * excess n logits a)); lra. }
    apply share_of_likelier; [exact some|]; intros a b _ _ a_in b_out.
    unfold likely, Statements.later_work.entropic.likely in a_in, b_out.
    apply not_less in a_in; apply negb_false_iff, is_less in b_out.
    destruct (Rle_dec (logits b) (logits a)) as [|above]; [assumption|].
    assert (softmax n logits a < softmax n logits b) by (apply softmax_lt; [exact some|lra]); lra.
  - intros alpha a inside.
    set (signed := fun b => if correct b then 1 else - (1)).
    transitivity (score_step n logits (fun b => softmax n logits b * (signed b - - alpha)) a).
    + apply score_step_ext; [exact inside|]; intros b _.
      change (softmax n logits b * (signed b + alpha) = softmax n logits b * (signed b - - alpha)); ring.
    + apply score_step_shift, some.
  - pose proof (rate_of_scores n logits some (indicator likely)) as found.
    rewrite covariance_indicator in found by exact some; exact found.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.entropic.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1; witnessed. Qed.
