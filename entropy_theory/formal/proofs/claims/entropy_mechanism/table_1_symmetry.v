(** Entropy Mechanism, Table 1: for all values that round to the printed ones, the lower half of the tokens
    has a mean covariance of -0.146, within 0.002, and 95 to 97 % of the upper half's in size. *)

From Coq Require Import Reals Lra.
From Trusted.Statements.entropy_mechanism Require table_1_symmetry.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.table_1_symmetry.statement.
Proof.
  unfold Statements.entropy_mechanism.table_1_symmetry.statement; intros; repeat split;
    [lra|lra|apply Rabs_le; lra].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.table_1_symmetry.witness.
Proof. exists (19 / 125), (3 / 1000); witnessed. Qed.
