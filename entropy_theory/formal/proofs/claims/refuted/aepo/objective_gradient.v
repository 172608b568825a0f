(* Generated from the counterexample of aepo.objective-gradient. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require objective_gradient.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.objective_gradient.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    2%nat
    (at_states 2 [log_weights [1; 1]; log_weights [1; 1]; log_weights [1; 1]])
    (at_states 2 [entries [0; 0]; entries [0; 0]; entries [1; 0]])).
  refute claim 2%nat.
Qed.
