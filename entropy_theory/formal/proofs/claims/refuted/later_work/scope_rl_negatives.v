(* Generated from the counterexample of later-work.scope-rl-negatives. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require scope_rl_negatives.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.scope_rl_negatives.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [1; 1; 2; 3])
    (marks [true; true; false; true])
    2).
  refute claim 4%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.later_work.scope_rl_negatives.defined.
Proof. domains. Qed.
