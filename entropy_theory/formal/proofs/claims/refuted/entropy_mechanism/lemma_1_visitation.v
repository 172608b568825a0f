(* Generated from the counterexample of entropy-mechanism.lemma-1-visitation. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require lemma_1_visitation.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.lemma_1_visitation.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    2%nat
    (at_states 2 [log_weights [1; 1]; log_weights [1; 1]; log_weights [1; 2]])
    (at_states 2 [entries [1; 0]; entries [0; 0]; entries [0; 0]])).
  refute claim 2%nat.
Qed.
