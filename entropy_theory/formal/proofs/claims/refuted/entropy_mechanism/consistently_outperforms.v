(* Generated from the counterexample of entropy-mechanism.consistently-outperforms. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require consistently_outperforms.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.consistently_outperforms.refuted.
Proof.
  intros claim; specialize (claim 7%nat
    (entries [221 / 10; 79 / 5; 291 / 5; 402 / 5; 61 / 2; 441 / 10; 411 / 10])
    (entries [106 / 5; 48 / 5; 587 / 10; 394 / 5; 279 / 10; 407 / 10; 367 / 10])
    (entries [1 / 10; 1 / 10; 1 / 10; 1 / 10; 1 / 10; 1 / 10; 1 / 10])).
  refute claim 7%nat.
Qed.
