(** STARE (arXiv 2606.19236): a token's entropy change is -A (c_k - C), whose sign one logit divides, and whose mean
    over the policy is 0. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions OwnCovariance TokenLosses.
From Trusted.Statements.later_work Require stare.
Open Scope R_scope.

Theorem proved : Statements.later_work.stare.statement.
Proof.
  intros n logits two; assert (some : (0 < n)%nat) by lia; split; [|split].
  - exact (excess_sign n logits some).
  - intros advantage a inside; exact (rate_of_token n logits some a advantage inside).
  - exact (Contributions.mean_excess n logits some).
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.stare.witness.
Proof. exists 2%nat, (fun _ => 0); witnessed. Qed.
