(* Generated from the counterexample of aepo.entropy-adv. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require entropy_adv.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.entropy_adv.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (entries [1; 2])
    1
    2).
  refute claim 2%nat.
Qed.

From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.entropy_adv.defined.
Proof. domains. Qed.
