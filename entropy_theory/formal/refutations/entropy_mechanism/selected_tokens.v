(* Generated from the counterexample of entropy-mechanism.selected-tokens. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require entropy_mechanism_selected_tokens.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism_selected_tokens.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (entries [0; 2])
    (entries [1; - 1])
    1).
  refute claim 2%nat.
Qed.
