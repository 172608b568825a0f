(* Generated from the counterexample of later-work.opefo-reward. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require opefo_reward.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.opefo_reward.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [1; 1; 3; 4])
    (entries [0; 0; 3 / 4; 1])).
  refute claim 4%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.later_work.opefo_reward.defined.
Proof. domains. Qed.
