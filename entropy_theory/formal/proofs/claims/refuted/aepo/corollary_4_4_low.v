(* Generated from the counterexample of aepo.corollary-4.4-low. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require corollary_4_4_low.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.corollary_4_4_low.refuted.
Proof.
  intros claim; specialize (claim 5%nat
    (log_weights [1; 2; 2; 3; 4])
    (marks [false; false; false; true; false])
    (1 / 4)).
  refute claim 5%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.corollary_4_4_low.defined.
Proof. domains. Qed.
