(** Tables of printed numbers, continued: claims that count the columns in which one row is ahead. *)

From Coq Require Import Reals Lra Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Comparisons.
Open Scope R_scope.

(** One row: its numbers are put in, each comparison is decided by linear arithmetic, and the columns are
    counted. *)
Ltac count_columns :=
  intros; subst; unfold total_on, only;
  repeat match goal with
  | some : _ \/ _ |- _ => destruct some
  | both : _ /\ _ |- _ => destruct both
  end;
  simpl;
  repeat match goal with entry : _ = _ |- _ => rewrite !entry; clear entry end;
  repeat match goal with |- context [less ?x ?y] =>
    first [rewrite (proj2 (is_less x y)) by lra | rewrite (proj2 (is_not_less x y)) by lra] end;
  simpl; repeat split; lra.
