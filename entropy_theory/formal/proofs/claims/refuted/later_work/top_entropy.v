(* Generated from the counterexample of later-work.top-entropy. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require top_entropy.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.top_entropy.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (entries [0; 3])
    (entries [0; 1])).
  refute claim 2%nat.
Qed.
