(* Generated from the counterexample of extension.diverse-bonus-price. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require diverse_bonus_price.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.diverse_bonus_price.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 2])
    (marks [false; true; true])).
  refute claim 3%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.extension.diverse_bonus_price.defined.
Proof. domains. Qed.
