(* Generated from the counterexample of aepo.corollary-4.4-high. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require corollary_4_4_high.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.corollary_4_4_high.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [1; 1; 2; 3])
    (marks [false; false; true; false])
    2).
  refute claim 4%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.corollary_4_4_high.defined.
Proof. domains. Qed.
