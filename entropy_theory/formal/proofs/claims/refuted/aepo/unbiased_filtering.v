(* Generated from the counterexample of aepo.unbiased-filtering. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require unbiased_filtering.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.unbiased_filtering.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [true; true])
    2).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.unbiased_filtering.defined.
Proof. domains. Qed.
