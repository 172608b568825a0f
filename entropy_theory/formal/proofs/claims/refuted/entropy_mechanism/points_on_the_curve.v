(* Generated from the counterexample of entropy-mechanism.points-on-the-curve. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require points_on_the_curve.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.points_on_the_curve.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 2])
    (marks [false; true; false])).
  refute claim 3%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.entropy_mechanism.points_on_the_curve.defined.
Proof. domains. Qed.
