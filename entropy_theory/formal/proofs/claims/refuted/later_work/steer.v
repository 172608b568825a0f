(* Generated from the counterexample of later-work.steer. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require steer.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.steer.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [1; 1; 2; 3])).
  refute claim 4%nat.
Qed.
