(* Generated from the counterexample of aepo.consistent-improvements. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require consistent_improvements.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.consistent_improvements.refuted.
Proof.
  intros claim; specialize (claim 1%nat
    (entries [189 / 5])
    (entries [191 / 5])
    (entries [1 / 10])).
  refute claim 1%nat.
Qed.
