(* Generated from the counterexample of aepo.assumption-b4. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require assumption_b4.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.assumption_b4.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 2])
    (marks [false; true; true])
    (entries [0; 1; 0])
    4).
  refute claim 3%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.assumption_b4.defined.
Proof. domains. Qed.
