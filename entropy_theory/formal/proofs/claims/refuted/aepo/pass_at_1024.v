(* Generated from the counterexample of aepo.pass-at-1024. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require pass_at_1024.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.pass_at_1024.refuted.
Proof.
  intros claim; specialize (claim 22
    22).
  refute claim 0%nat.
Qed.
