(* Generated from the counterexample of aepo.asymmetry. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require asymmetry.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.asymmetry.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 11])
    (6 / 5)
    (4 / 5)).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.asymmetry.defined.
Proof. domains. Qed.
