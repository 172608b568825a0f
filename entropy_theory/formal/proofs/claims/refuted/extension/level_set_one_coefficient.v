(* Generated from the counterexample of extension.level-set-one-coefficient. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.extension Require level_set_one_coefficient.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.extension.level_set_one_coefficient.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 2; 2])
    (marks [false; true; true])
    (entries [3; 3; - 3])).
  refute claim 3%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.extension.level_set_one_coefficient.defined.
Proof. domains. Qed.
