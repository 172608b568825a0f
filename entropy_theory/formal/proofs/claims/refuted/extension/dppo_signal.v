(* Generated from the counterexample of extension.dppo-signal. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require dppo_signal.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.dppo_signal.refuted.
Proof.
  intros claim; specialize (claim 5%nat
    (log_weights [1; 2; 3; 5; 8])
    (marks [false; false; false; true; false])
    (1 / 2)).
  refute claim 5%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.extension.dppo_signal.defined.
Proof. domains. Qed.
