(* Generated from the counterexample of aepo.pass-at-1024. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_pass_at_1024.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_pass_at_1024.refuted.
Proof.
  intros claim; specialize (claim 22
    22).
  refute claim 0%nat.
Qed.
