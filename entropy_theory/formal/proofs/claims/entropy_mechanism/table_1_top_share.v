(** Entropy Mechanism, Table 1: for all values that round to the printed ones, the mean covariance without
    the top 0.2 % of the tokens is negative, and without the top 0.02 % it is positive. *)

From Coq Require Import Reals Lra.
From Trusted.Statements.entropy_mechanism Require table_1_top_share.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.table_1_top_share.statement.
Proof.
  unfold Statements.entropy_mechanism.table_1_top_share.statement; intros; split; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.table_1_top_share.witness.
Proof. exists (3 / 1000), (389 / 125), (2827 / 500); witnessed. Qed.
