(* Generated from the counterexample of aepo.arbitrary-entropy. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require arbitrary_entropy.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.arbitrary_entropy.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (marks [false; true])
    (1 / 2)
    1).
  refute claim 2%nat.
Qed.
