(* Generated from the counterexample of extension.uncorrected-signal. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require uncorrected_signal.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.uncorrected_signal.refuted.
Proof.
  intros claim; specialize (claim 5%nat
    (log_weights [1; 1; 1; 4; 5])
    (marks [false; false; false; true; false])
    (21 / 20)).
  refute claim 5%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.extension.uncorrected_signal.defined.
Proof. domains. Qed.
