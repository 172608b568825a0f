(* Generated from the counterexample of aent.clamping-reduces-bias. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aent Require clamping_reduces_bias.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aent.clamping_reduces_bias.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 2])
    (marks [true; false])
    1
    (1 / 2)).
  refute claim 2%nat.
Qed.

From Coq Require Import Lra Lia.
From PolicyEntropy.library Require Import Basics Masks Ranking Domains TreeDomains.

Theorem defined : Statements.refuted.aent.clamping_reduces_bias.defined.
Proof.
  domains; apply nonzero_of_pos, mixture_pos;
    first [apply exp_pos | apply count_on_nonneg | apply count_on_at_most | apply count_of_both
          | apply lt_0_INR; lia | apply count_on_pos, some_kept; lia || lra].
Qed.
