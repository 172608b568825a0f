(* Generated from the formula of the claim aepo.consistent-improvements (AEPO, Section 5.2 ('consistent improvements ... across every benchmark')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (ours : vector) (theirs : vector) (rounding : vector),
  n = 1%nat ->
  ((ours 0%nat = 35 / 2 /\ theirs 0%nat = 171 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 57 / 5 /\ theirs 0%nat = 38 / 5 /\ rounding 0%nat = 11 / 200) \/
   (ours 0%nat = 693 / 10 /\ theirs 0%nat = 329 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 929 / 10 /\ theirs 0%nat = 923 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 78 /\ theirs 0%nat = 378 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 189 / 5 /\ theirs 0%nat = 184 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 201 / 5 /\ theirs 0%nat = 194 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 35 / 2 /\ theirs 0%nat = 68 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 57 / 5 /\ theirs 0%nat = 177 / 20 /\ rounding 0%nat = 11 / 200) \/
   (ours 0%nat = 693 / 10 /\ theirs 0%nat = 337 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 929 / 10 /\ theirs 0%nat = 923 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 78 /\ theirs 0%nat = 384 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 189 / 5 /\ theirs 0%nat = 71 / 2 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 201 / 5 /\ theirs 0%nat = 391 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 35 / 2 /\ theirs 0%nat = 74 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 57 / 5 /\ theirs 0%nat = 823 / 100 /\ rounding 0%nat = 11 / 200) \/
   (ours 0%nat = 693 / 10 /\ theirs 0%nat = 673 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 929 / 10 /\ theirs 0%nat = 919 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 78 /\ theirs 0%nat = 383 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 189 / 5 /\ theirs 0%nat = 191 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 201 / 5 /\ theirs 0%nat = 75 / 2 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 182 / 5 /\ theirs 0%nat = 321 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 63 / 5 /\ theirs 0%nat = 11 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 374 / 5 /\ theirs 0%nat = 362 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 179 / 2 /\ theirs 0%nat = 887 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 413 / 5 /\ theirs 0%nat = 403 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 191 / 5 /\ theirs 0%nat = 173 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 43 /\ theirs 0%nat = 209 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 182 / 5 /\ theirs 0%nat = 157 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 63 / 5 /\ theirs 0%nat = 101 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 374 / 5 /\ theirs 0%nat = 743 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 179 / 2 /\ theirs 0%nat = 87 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 413 / 5 /\ theirs 0%nat = 394 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 191 / 5 /\ theirs 0%nat = 357 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 43 /\ theirs 0%nat = 202 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 182 / 5 /\ theirs 0%nat = 321 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 63 / 5 /\ theirs 0%nat = 57 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 374 / 5 /\ theirs 0%nat = 721 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 179 / 2 /\ theirs 0%nat = 439 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 413 / 5 /\ theirs 0%nat = 394 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 191 / 5 /\ theirs 0%nat = 75 / 2 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 43 /\ theirs 0%nat = 421 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 109 / 2 /\ theirs 0%nat = 529 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 437 / 10 /\ theirs 0%nat = 83 / 2 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 897 / 10 /\ theirs 0%nat = 861 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 95 /\ theirs 0%nat = 476 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 464 / 5 /\ theirs 0%nat = 92 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 239 / 5 /\ theirs 0%nat = 467 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 609 / 10 /\ theirs 0%nat = 60 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 70 /\ theirs 0%nat = 633 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 833 / 10 /\ theirs 0%nat = 733 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 667 / 10 /\ theirs 0%nat = 60 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 733 / 10 /\ theirs 0%nat = 633 / 10 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 67 /\ theirs 0%nat = 329 / 5 /\ rounding 0%nat = 1 / 10) \/
   (ours 0%nat = 741 / 10 /\ theirs 0%nat = 729 / 10 /\ rounding 0%nat = 1 / 10)) ->
  forall a, (a < n)%nat -> 0 <= ours a - theirs a + rounding a.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
