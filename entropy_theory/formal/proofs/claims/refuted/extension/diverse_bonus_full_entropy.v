(* Generated from the counterexample of extension.diverse-bonus-full-entropy. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require diverse_bonus_full_entropy.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.diverse_bonus_full_entropy.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 2; 7])
    (marks [true; true; false])).
  refute claim 3%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.extension.diverse_bonus_full_entropy.defined.
Proof. domains. Qed.
