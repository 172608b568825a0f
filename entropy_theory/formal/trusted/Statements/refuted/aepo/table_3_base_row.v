(* Generated from the formula of the claim aepo.table-3-base-row (AEPO, Table 3). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (entries : vector) (average : R) (entry_rounding : vector) (average_rounding : R),
  n = 7%nat ->
  ((entries 0%nat = 31 / 2 /\ entries 1%nat = 781 / 100 /\ entries 2%nat = 421 / 10 /\ entries 3%nat = 327 / 5 /\ entries 4%nat = 297 / 5 /\ entries 5%nat = 11 /\ entries 6%nat = 267 / 10 /\ average = 1883 / 50 /\ entry_rounding 0%nat = 1 / 20 /\ entry_rounding 1%nat = 1 / 200 /\ entry_rounding 2%nat = 1 / 20 /\ entry_rounding 3%nat = 1 / 20 /\ entry_rounding 4%nat = 1 / 20 /\ entry_rounding 5%nat = 1 / 20 /\ entry_rounding 6%nat = 1 / 20 /\ average_rounding = 1 / 200) \/
   (entries 0%nat = 379 / 10 /\ entries 1%nat = 113 / 10 /\ entries 2%nat = 372 / 5 /\ entries 3%nat = 447 / 5 /\ entries 4%nat = 399 / 5 /\ entries 5%nat = 36 /\ entries 6%nat = 211 / 5 /\ average = 53 /\ entry_rounding 0%nat = 1 / 20 /\ entry_rounding 1%nat = 1 / 20 /\ entry_rounding 2%nat = 1 / 20 /\ entry_rounding 3%nat = 1 / 20 /\ entry_rounding 4%nat = 1 / 20 /\ entry_rounding 5%nat = 1 / 20 /\ entry_rounding 6%nat = 1 / 20 /\ average_rounding = 1 / 200) \/
   (entries 0%nat = 182 / 5 /\ entries 1%nat = 63 / 5 /\ entries 2%nat = 374 / 5 /\ entries 3%nat = 179 / 2 /\ entries 4%nat = 413 / 5 /\ entries 5%nat = 191 / 5 /\ entries 6%nat = 43 /\ average = 5387 / 100 /\ entry_rounding 0%nat = 1 / 20 /\ entry_rounding 1%nat = 1 / 20 /\ entry_rounding 2%nat = 1 / 20 /\ entry_rounding 3%nat = 1 / 20 /\ entry_rounding 4%nat = 1 / 20 /\ entry_rounding 5%nat = 1 / 20 /\ entry_rounding 6%nat = 1 / 20 /\ average_rounding = 1 / 200) \/
   (entries 0%nat = 168 / 5 /\ entries 1%nat = 151 / 10 /\ entries 2%nat = 77 /\ entries 3%nat = 447 / 5 /\ entries 4%nat = 396 / 5 /\ entries 5%nat = 75 / 2 /\ entries 6%nat = 212 / 5 /\ average = 1069 / 20 /\ entry_rounding 0%nat = 1 / 20 /\ entry_rounding 1%nat = 1 / 20 /\ entry_rounding 2%nat = 1 / 20 /\ entry_rounding 3%nat = 1 / 20 /\ entry_rounding 4%nat = 1 / 20 /\ entry_rounding 5%nat = 1 / 20 /\ entry_rounding 6%nat = 1 / 20 /\ average_rounding = 1 / 200) \/
   (entries 0%nat = 166 / 5 /\ entries 1%nat = 78 / 5 /\ entries 2%nat = 374 / 5 /\ entries 3%nat = 887 / 10 /\ entries 4%nat = 398 / 5 /\ entries 5%nat = 379 / 10 /\ entries 6%nat = 421 / 10 /\ average = 5313 / 100 /\ entry_rounding 0%nat = 1 / 20 /\ entry_rounding 1%nat = 1 / 20 /\ entry_rounding 2%nat = 1 / 20 /\ entry_rounding 3%nat = 1 / 20 /\ entry_rounding 4%nat = 1 / 20 /\ entry_rounding 5%nat = 1 / 20 /\ entry_rounding 6%nat = 1 / 20 /\ average_rounding = 1 / 200) \/
   (entries 0%nat = 157 / 5 /\ entries 1%nat = 59 / 5 /\ entries 2%nat = 149 / 2 /\ entries 3%nat = 889 / 10 /\ entries 4%nat = 79 /\ entries 5%nat = 67 / 2 /\ entries 6%nat = 401 / 10 /\ average = 5131 / 100 /\ entry_rounding 0%nat = 1 / 20 /\ entry_rounding 1%nat = 1 / 20 /\ entry_rounding 2%nat = 1 / 20 /\ entry_rounding 3%nat = 1 / 20 /\ entry_rounding 4%nat = 1 / 20 /\ entry_rounding 5%nat = 1 / 20 /\ entry_rounding 6%nat = 1 / 20 /\ average_rounding = 1 / 200) \/
   (entries 0%nat = 327 / 10 /\ entries 1%nat = 11 /\ entries 2%nat = 366 / 5 /\ entries 3%nat = 881 / 10 /\ entries 4%nat = 79 /\ entries 5%nat = 357 / 10 /\ entries 6%nat = 206 / 5 /\ average = 1289 / 25 /\ entry_rounding 0%nat = 1 / 20 /\ entry_rounding 1%nat = 1 / 20 /\ entry_rounding 2%nat = 1 / 20 /\ entry_rounding 3%nat = 1 / 20 /\ entry_rounding 4%nat = 1 / 20 /\ entry_rounding 5%nat = 1 / 20 /\ entry_rounding 6%nat = 1 / 20 /\ average_rounding = 1 / 200)) ->
  Rabs (average - sum n entries / INR n) <= average_rounding + sum n entry_rounding / INR n.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
