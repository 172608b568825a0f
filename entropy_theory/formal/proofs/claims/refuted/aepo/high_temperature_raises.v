(* Generated from the counterexample of aepo.high-temperature-raises. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require high_temperature_raises.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.high_temperature_raises.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [false; true])
    2).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.high_temperature_raises.defined.
Proof. domains. Qed.
