(* Generated from the counterexample of aepo.low-temperature-lowers. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require low_temperature_lowers.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.low_temperature_lowers.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [true; false])
    (1 / 2)).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.low_temperature_lowers.defined.
Proof. domains. Qed.
