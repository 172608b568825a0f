(* Generated from the counterexample of aepo.maxent-objective. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require maxent_objective.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.maxent_objective.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    2%nat
    (at_states 2 [log_weights [1; 1]; log_weights [1; 1]; log_weights [1; 1]])).
  refute claim 2%nat.
Qed.

From Coq Require Import Lra Lia.
From PolicyEntropy.library Require Import Basics Trees ResponseLengths Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.maxent_objective.defined.
Proof.
  domains; apply nonzero_of_pos.
  match goal with inside : response_of ?n ?h ?y |- 0 < _ =>
    pose proof (tokens_at_least_one n h y inside ltac:(assumption)) as long; change (0 < tokens y); lra end.
Qed.
