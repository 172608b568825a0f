(* Generated from the counterexample of entropy-mechanism.selected-tokens. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require selected_tokens.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.selected_tokens.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (entries [0; 2])
    (entries [1; - 1])
    1).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.entropy_mechanism.selected_tokens.defined.
Proof. domains. Qed.
