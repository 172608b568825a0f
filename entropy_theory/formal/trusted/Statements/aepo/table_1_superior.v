(* Generated from the formula of the claim aepo.table-1-superior (AEPO, Table 1 (caption: 'superior performance across all mathematical reasoning benchmarks')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition repair : Prop :=
  forall (n : nat) (ours : vector) (theirs : vector) (rounding : vector),
  n = 7%nat ->
  ((ours 0%nat = 35 / 2 /\ ours 1%nat = 57 / 5 /\ ours 2%nat = 693 / 10 /\ ours 3%nat = 929 / 10 /\ ours 4%nat = 78 /\ ours 5%nat = 189 / 5 /\ ours 6%nat = 201 / 5 /\ theirs 0%nat = 171 / 10 /\ theirs 1%nat = 177 / 20 /\ theirs 2%nat = 337 / 5 /\ theirs 3%nat = 923 / 10 /\ theirs 4%nat = 384 / 5 /\ theirs 5%nat = 191 / 5 /\ theirs 6%nat = 391 / 10 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 11 / 200 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 182 / 5 /\ ours 1%nat = 63 / 5 /\ ours 2%nat = 374 / 5 /\ ours 3%nat = 179 / 2 /\ ours 4%nat = 413 / 5 /\ ours 5%nat = 191 / 5 /\ ours 6%nat = 43 /\ theirs 0%nat = 321 / 10 /\ theirs 1%nat = 57 / 5 /\ theirs 2%nat = 743 / 10 /\ theirs 3%nat = 887 / 10 /\ theirs 4%nat = 403 / 5 /\ theirs 5%nat = 75 / 2 /\ theirs 6%nat = 421 / 10 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 109 / 2 /\ ours 1%nat = 437 / 10 /\ ours 2%nat = 897 / 10 /\ ours 3%nat = 95 /\ ours 4%nat = 464 / 5 /\ ours 5%nat = 239 / 5 /\ ours 6%nat = 609 / 10 /\ theirs 0%nat = 529 / 10 /\ theirs 1%nat = 83 / 2 /\ theirs 2%nat = 861 / 10 /\ theirs 3%nat = 476 / 5 /\ theirs 4%nat = 92 /\ theirs 5%nat = 467 / 10 /\ theirs 6%nat = 60 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10)) ->
  0 < total_on n (fun a => less (theirs a) (ours a)) (fun a => 1) - 6 + 1 / 2 /\
  0 < sum n (fun a => ours a - theirs a - rounding a) / INR n.

Definition witness : Prop :=
  exists (n : nat) (ours : vector) (theirs : vector) (rounding : vector),
  n = 7%nat /\
  ((ours 0%nat = 35 / 2 /\ ours 1%nat = 57 / 5 /\ ours 2%nat = 693 / 10 /\ ours 3%nat = 929 / 10 /\ ours 4%nat = 78 /\ ours 5%nat = 189 / 5 /\ ours 6%nat = 201 / 5 /\ theirs 0%nat = 171 / 10 /\ theirs 1%nat = 177 / 20 /\ theirs 2%nat = 337 / 5 /\ theirs 3%nat = 923 / 10 /\ theirs 4%nat = 384 / 5 /\ theirs 5%nat = 191 / 5 /\ theirs 6%nat = 391 / 10 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 11 / 200 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 182 / 5 /\ ours 1%nat = 63 / 5 /\ ours 2%nat = 374 / 5 /\ ours 3%nat = 179 / 2 /\ ours 4%nat = 413 / 5 /\ ours 5%nat = 191 / 5 /\ ours 6%nat = 43 /\ theirs 0%nat = 321 / 10 /\ theirs 1%nat = 57 / 5 /\ theirs 2%nat = 743 / 10 /\ theirs 3%nat = 887 / 10 /\ theirs 4%nat = 403 / 5 /\ theirs 5%nat = 75 / 2 /\ theirs 6%nat = 421 / 10 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 109 / 2 /\ ours 1%nat = 437 / 10 /\ ours 2%nat = 897 / 10 /\ ours 3%nat = 95 /\ ours 4%nat = 464 / 5 /\ ours 5%nat = 239 / 5 /\ ours 6%nat = 609 / 10 /\ theirs 0%nat = 529 / 10 /\ theirs 1%nat = 83 / 2 /\ theirs 2%nat = 861 / 10 /\ theirs 3%nat = 476 / 5 /\ theirs 4%nat = 92 /\ theirs 5%nat = 467 / 10 /\ theirs 6%nat = 60 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10)).

Definition defined : Prop :=
  forall (n : nat) (ours : vector) (theirs : vector) (rounding : vector),
  n = 7%nat ->
  ((ours 0%nat = 35 / 2 /\ ours 1%nat = 57 / 5 /\ ours 2%nat = 693 / 10 /\ ours 3%nat = 929 / 10 /\ ours 4%nat = 78 /\ ours 5%nat = 189 / 5 /\ ours 6%nat = 201 / 5 /\ theirs 0%nat = 171 / 10 /\ theirs 1%nat = 177 / 20 /\ theirs 2%nat = 337 / 5 /\ theirs 3%nat = 923 / 10 /\ theirs 4%nat = 384 / 5 /\ theirs 5%nat = 191 / 5 /\ theirs 6%nat = 391 / 10 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 11 / 200 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 182 / 5 /\ ours 1%nat = 63 / 5 /\ ours 2%nat = 374 / 5 /\ ours 3%nat = 179 / 2 /\ ours 4%nat = 413 / 5 /\ ours 5%nat = 191 / 5 /\ ours 6%nat = 43 /\ theirs 0%nat = 321 / 10 /\ theirs 1%nat = 57 / 5 /\ theirs 2%nat = 743 / 10 /\ theirs 3%nat = 887 / 10 /\ theirs 4%nat = 403 / 5 /\ theirs 5%nat = 75 / 2 /\ theirs 6%nat = 421 / 10 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 109 / 2 /\ ours 1%nat = 437 / 10 /\ ours 2%nat = 897 / 10 /\ ours 3%nat = 95 /\ ours 4%nat = 464 / 5 /\ ours 5%nat = 239 / 5 /\ ours 6%nat = 609 / 10 /\ theirs 0%nat = 529 / 10 /\ theirs 1%nat = 83 / 2 /\ theirs 2%nat = 861 / 10 /\ theirs 3%nat = 476 / 5 /\ theirs 4%nat = 92 /\ theirs 5%nat = 467 / 10 /\ theirs 6%nat = 60 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10)) ->
  INR n <> 0.
