(* Generated from the counterexample of extension.banded-signal. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require banded_signal.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.banded_signal.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [1; 3; 11; 12])
    (marks [false; true; false; true])
    (3 / 2)).
  refute claim 4%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.extension.banded_signal.defined.
Proof. domains. Qed.
