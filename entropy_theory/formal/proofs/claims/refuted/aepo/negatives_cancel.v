(* Generated from the counterexample of aepo.negatives-cancel. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require negatives_cancel.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.negatives_cancel.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [false; true])
    2).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.negatives_cancel.defined.
Proof. domains. Qed.
