(* Generated from the formula of the claim entropy-mechanism.consistently-outperforms (Entropy Mechanism, Figure 11 (caption) and Table 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (ours : vector) (theirs : vector) (rounding : vector),
  n = 7%nat ->
  ((ours 0%nat = 221 / 10 /\ ours 1%nat = 79 / 5 /\ ours 2%nat = 291 / 5 /\ ours 3%nat = 402 / 5 /\ ours 4%nat = 61 / 2 /\ ours 5%nat = 441 / 10 /\ ours 6%nat = 411 / 10 /\ theirs 0%nat = 106 / 5 /\ theirs 1%nat = 48 / 5 /\ theirs 2%nat = 587 / 10 /\ theirs 3%nat = 394 / 5 /\ theirs 4%nat = 279 / 10 /\ theirs 5%nat = 407 / 10 /\ theirs 6%nat = 367 / 10 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 113 / 5 /\ ours 1%nat = 129 / 10 /\ ours 2%nat = 307 / 5 /\ ours 3%nat = 404 / 5 /\ ours 4%nat = 291 / 10 /\ ours 5%nat = 213 / 5 /\ ours 6%nat = 191 / 5 /\ theirs 0%nat = 106 / 5 /\ theirs 1%nat = 48 / 5 /\ theirs 2%nat = 587 / 10 /\ theirs 3%nat = 394 / 5 /\ theirs 4%nat = 279 / 10 /\ theirs 5%nat = 407 / 10 /\ theirs 6%nat = 367 / 10 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 323 / 10 /\ ours 1%nat = 227 / 10 /\ ours 2%nat = 336 / 5 /\ ours 3%nat = 87 /\ ours 4%nat = 42 /\ ours 5%nat = 286 / 5 /\ ours 6%nat = 46 /\ theirs 0%nat = 109 / 5 /\ theirs 1%nat = 81 / 5 /\ theirs 2%nat = 697 / 10 /\ theirs 3%nat = 421 / 5 /\ theirs 4%nat = 176 / 5 /\ theirs 5%nat = 218 / 5 /\ theirs 6%nat = 91 / 2 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10) \/
   (ours 0%nat = 184 / 5 /\ ours 1%nat = 154 / 5 /\ ours 2%nat = 149 / 2 /\ ours 3%nat = 423 / 5 /\ ours 4%nat = 391 / 10 /\ ours 5%nat = 49 /\ ours 6%nat = 463 / 10 /\ theirs 0%nat = 109 / 5 /\ theirs 1%nat = 81 / 5 /\ theirs 2%nat = 697 / 10 /\ theirs 3%nat = 421 / 5 /\ theirs 4%nat = 176 / 5 /\ theirs 5%nat = 218 / 5 /\ theirs 6%nat = 91 / 2 /\ rounding 0%nat = 1 / 10 /\ rounding 1%nat = 1 / 10 /\ rounding 2%nat = 1 / 10 /\ rounding 3%nat = 1 / 10 /\ rounding 4%nat = 1 / 10 /\ rounding 5%nat = 1 / 10 /\ rounding 6%nat = 1 / 10)) ->
  forall a, (a < n)%nat -> 0 <= ours a - theirs a + rounding a.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
