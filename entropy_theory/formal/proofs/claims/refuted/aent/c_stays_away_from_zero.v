(* Generated from the counterexample of aent.c-stays-away-from-zero. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aent Require c_stays_away_from_zero.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aent.c_stays_away_from_zero.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 3])
    (entries [0; 1; 9 / 10])
    4).
  refute claim 3%nat.
Qed.
