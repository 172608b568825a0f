(* Generated from the counterexample of later-work.clip-low-high. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.later_work Require clip_low_high.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.later_work.clip_low_high.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (entries [0; 1])
    (1 / 5)).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.later_work.clip_low_high.defined.
Proof. domains. Qed.
