(* Generated from the counterexample of aent.entropy-length. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aent Require entropy_length.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aent.entropy_length.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    2%nat
    (at_states 2 [log_weights [1; 2]; log_weights [1; 1]; log_weights [1; 1]])
    2).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aent.entropy_length.defined.
Proof. domains. Qed.
