(* Generated from the counterexample of aent.bonus-pulls-to-uniform. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aent Require bonus_pulls_to_uniform.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aent.bonus_pulls_to_uniform.refuted.
Proof.
  intros claim; specialize (claim 4%nat
    (log_weights [1; 1; 2; 3])).
  refute claim 4%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aent.bonus_pulls_to_uniform.defined.
Proof. domains. Qed.
