(** Tables of printed numbers: a claim about listed rows is arithmetic on each of them. *)

From Coq Require Import Reals Lra.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** One row: its numbers are put in, comparisons and absolute values are decided, and linear arithmetic
    does the rest. *)
Ltac row_by_row :=
  intros; subst;
  repeat match goal with
  | some : _ \/ _ |- _ => destruct some
  | both : _ /\ _ |- _ => destruct both
  end;
  subst; simpl;
  repeat match goal with entry : _ = _ |- _ => rewrite !entry; clear entry end;
  unfold less;
  repeat match goal with |- context [Rlt_dec ?x ?y] => destruct (Rlt_dec x y) end;
  repeat match goal with compared : context [Rabs ?x] |- _ =>
    unfold Rabs in compared; destruct (Rcase_abs x) end;
  repeat match goal with |- context [Rabs ?x] => unfold Rabs; destruct (Rcase_abs x) end;
  try (repeat split; lra).
