(* Generated from the counterexample of aepo.collapse-or-explosion. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require collapse_or_explosion.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.collapse_or_explosion.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (marks [false; true])
    1).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.collapse_or_explosion.defined.
Proof. domains. Qed.
