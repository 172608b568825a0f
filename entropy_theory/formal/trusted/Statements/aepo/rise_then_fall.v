(* Generated from the formula of the claim aepo.rise-then-fall (AEPO, Section 5.2 and Table 3 ('a rise-then-fall trend')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (first : vector) (second : vector) (third : vector) (fourth : vector) (rounding : R),
  n = 7%nat ->
  ((first 0%nat = 379 / 10 /\ first 1%nat = 113 / 10 /\ first 2%nat = 372 / 5 /\ first 3%nat = 447 / 5 /\ first 4%nat = 399 / 5 /\ first 5%nat = 36 /\ first 6%nat = 211 / 5 /\ second 0%nat = 182 / 5 /\ second 1%nat = 63 / 5 /\ second 2%nat = 374 / 5 /\ second 3%nat = 179 / 2 /\ second 4%nat = 413 / 5 /\ second 5%nat = 191 / 5 /\ second 6%nat = 43 /\ third 0%nat = 168 / 5 /\ third 1%nat = 151 / 10 /\ third 2%nat = 77 /\ third 3%nat = 447 / 5 /\ third 4%nat = 396 / 5 /\ third 5%nat = 75 / 2 /\ third 6%nat = 212 / 5 /\ fourth 0%nat = 166 / 5 /\ fourth 1%nat = 78 / 5 /\ fourth 2%nat = 374 / 5 /\ fourth 3%nat = 887 / 10 /\ fourth 4%nat = 398 / 5 /\ fourth 5%nat = 379 / 10 /\ fourth 6%nat = 421 / 10 /\ rounding = 1 / 10)) ->
  rounding < sum n (fun a => second a - first a) / INR n /\
  rounding < sum n (fun a => second a - third a) / INR n /\
  rounding < sum n (fun a => third a - fourth a) / INR n.

Definition witness : Prop :=
  exists (n : nat) (first : vector) (second : vector) (third : vector) (fourth : vector) (rounding : R),
  n = 7%nat /\
  ((first 0%nat = 379 / 10 /\ first 1%nat = 113 / 10 /\ first 2%nat = 372 / 5 /\ first 3%nat = 447 / 5 /\ first 4%nat = 399 / 5 /\ first 5%nat = 36 /\ first 6%nat = 211 / 5 /\ second 0%nat = 182 / 5 /\ second 1%nat = 63 / 5 /\ second 2%nat = 374 / 5 /\ second 3%nat = 179 / 2 /\ second 4%nat = 413 / 5 /\ second 5%nat = 191 / 5 /\ second 6%nat = 43 /\ third 0%nat = 168 / 5 /\ third 1%nat = 151 / 10 /\ third 2%nat = 77 /\ third 3%nat = 447 / 5 /\ third 4%nat = 396 / 5 /\ third 5%nat = 75 / 2 /\ third 6%nat = 212 / 5 /\ fourth 0%nat = 166 / 5 /\ fourth 1%nat = 78 / 5 /\ fourth 2%nat = 374 / 5 /\ fourth 3%nat = 887 / 10 /\ fourth 4%nat = 398 / 5 /\ fourth 5%nat = 379 / 10 /\ fourth 6%nat = 421 / 10 /\ rounding = 1 / 10)).

Definition defined : Prop :=
  forall (n : nat) (first : vector) (second : vector) (third : vector) (fourth : vector) (rounding : R),
  n = 7%nat ->
  ((first 0%nat = 379 / 10 /\ first 1%nat = 113 / 10 /\ first 2%nat = 372 / 5 /\ first 3%nat = 447 / 5 /\ first 4%nat = 399 / 5 /\ first 5%nat = 36 /\ first 6%nat = 211 / 5 /\ second 0%nat = 182 / 5 /\ second 1%nat = 63 / 5 /\ second 2%nat = 374 / 5 /\ second 3%nat = 179 / 2 /\ second 4%nat = 413 / 5 /\ second 5%nat = 191 / 5 /\ second 6%nat = 43 /\ third 0%nat = 168 / 5 /\ third 1%nat = 151 / 10 /\ third 2%nat = 77 /\ third 3%nat = 447 / 5 /\ third 4%nat = 396 / 5 /\ third 5%nat = 75 / 2 /\ third 6%nat = 212 / 5 /\ fourth 0%nat = 166 / 5 /\ fourth 1%nat = 78 / 5 /\ fourth 2%nat = 374 / 5 /\ fourth 3%nat = 887 / 10 /\ fourth 4%nat = 398 / 5 /\ fourth 5%nat = 379 / 10 /\ fourth 6%nat = 421 / 10 /\ rounding = 1 / 10)) ->
  INR n <> 0.
