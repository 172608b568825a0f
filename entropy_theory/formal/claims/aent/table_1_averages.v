(** AEnt, Table 1: in both settings AEnt's mean over the six benchmarks exceeds each baseline's by more
    than one thousandth, the most that rounding of the printed scores can add. *)

From Coq Require Import Reals Lra List.
From PolicyEntropy.library Require Import Definitions AEntTable.
Import ListNotations.
Open Scope R_scope.

Definition statement : Prop :=
  forall s baseline, In s settings -> In baseline (baselines s) ->
    0 < sum 6 (fun b => aent s b - baseline b) / 6 - 1.

Theorem proved : statement.
Proof.
  intros s baseline which_setting which_baseline.
  destruct which_setting as [<-|[<-|[]]]; destruct which_baseline as [<-|[<-|[<-|[]]]];
    simpl; unfold row; simpl; lra.
Qed.
