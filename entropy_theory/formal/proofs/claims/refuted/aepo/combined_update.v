(* Generated from the counterexample of aepo.combined-update. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require combined_update.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.combined_update.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [false; true])
    3).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.combined_update.defined.
Proof. domains. Qed.
