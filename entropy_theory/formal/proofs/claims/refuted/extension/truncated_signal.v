(* Generated from the counterexample of extension.truncated-signal. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require truncated_signal.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.truncated_signal.refuted.
Proof.
  intros claim; specialize (claim 5%nat
    (log_weights [1; 2; 2; 7; 8])
    (marks [false; true; true; false; true])
    (2 / 3)).
  refute claim 5%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.extension.truncated_signal.defined.
Proof. domains. Qed.
