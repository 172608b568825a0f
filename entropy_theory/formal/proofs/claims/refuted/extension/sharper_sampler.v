(* Generated from the counterexample of extension.sharper-sampler. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require sharper_sampler.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.sharper_sampler.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (entries [1; - 1])).
  refute claim 2%nat.
Qed.
