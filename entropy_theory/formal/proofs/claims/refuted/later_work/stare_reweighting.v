(* Generated from the counterexample of later-work.stare-reweighting. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require stare_reweighting.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.stare_reweighting.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [false; true])
    1).
  refute claim 2%nat.
Qed.
