(* Generated from the counterexample of entropy-mechanism.kl-cov-npg. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.entropy_mechanism Require kl_cov_npg.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.entropy_mechanism.kl_cov_npg.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (entries [1; 0])
    (entries [0; 1])
    (1 / 64)).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.entropy_mechanism.kl_cov_npg.defined.
Proof. domains. Qed.
