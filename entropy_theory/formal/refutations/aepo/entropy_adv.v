(* Generated from the counterexample of aepo.entropy-adv. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require aepo_entropy_adv.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo_entropy_adv.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (entries [1; 2])
    1
    2).
  refute claim 2%nat.
Qed.
