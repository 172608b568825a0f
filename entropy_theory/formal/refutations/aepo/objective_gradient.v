(* Generated from the counterexample of aepo.objective-gradient. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_objective_gradient.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_objective_gradient.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    2%nat
    (at_states 2 [log_weights [1; 1]; log_weights [1; 1]; log_weights [1; 1]])
    (at_states 2 [entries [0; 0]; entries [0; 0]; entries [1; 0]])).
  refute claim 2%nat.
Qed.
