(* Generated from the counterexample of entropy-mechanism.kl-cov-npg. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions Refuting.
From Statements.refuted Require entropy_mechanism_kl_cov_npg.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism_kl_cov_npg.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (entries [1; 0])
    (entries [0; 1])
    (1 / 64)).
  refute claim 2%nat.
Qed.
