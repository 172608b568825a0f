(* Generated from the formula of the claim entropy-mechanism.table-1-top-share (Entropy Mechanism, Table 1 ('only need to interfere a small portion of tokens')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (mean_ : R) (top_500th : R) (top_5000th : R),
  1 / 400 <= mean_ ->
  mean_ <= 7 / 2000 ->
  6223 / 2000 <= top_500th ->
  top_500th <= 249 / 80 ->
  11307 / 2000 <= top_5000th ->
  top_5000th <= 11309 / 2000 ->
  mean_ < top_500th / 500 /\
  top_5000th / 5000 < mean_.

Definition witness : Prop :=
  exists (mean_ : R) (top_500th : R) (top_5000th : R),
  1 / 400 <= mean_ /\
  mean_ <= 7 / 2000 /\
  6223 / 2000 <= top_500th /\
  top_500th <= 249 / 80 /\
  11307 / 2000 <= top_5000th /\
  top_5000th <= 11309 / 2000.
