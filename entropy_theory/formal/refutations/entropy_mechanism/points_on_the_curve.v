(* Generated from the counterexample of entropy-mechanism.points-on-the-curve. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require entropy_mechanism_points_on_the_curve.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism_points_on_the_curve.refuted.
Proof.
  intros claim; specialize (claim 3%nat
    (log_weights [1; 1; 2])
    (marks [false; true; false])).
  refute claim 3%nat.
Qed.
