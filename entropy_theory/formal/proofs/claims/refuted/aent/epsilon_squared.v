(* Generated from the counterexample of aent.epsilon-squared. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aent Require epsilon_squared.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aent.epsilon_squared.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    1%nat
    (at_states 2 [log_weights [1; 1]])
    (in_responses 2 [false; true])
    1
    (1 / 2)).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aent.epsilon_squared.defined.
Proof. domains. Qed.
