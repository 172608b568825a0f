(* Generated from the counterexample of extension.score-noise. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require score_noise.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.score_noise.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (marks [false; false; true])
    4).
  refute claim 3%nat.
Qed.
