(* Generated from the formula of the claim extension.sampled-group-two-answers (Extension of AEPO, section 3.1 (a group's advantages)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions Groups.
Open Scope R_scope.

(** u at the right answer minus u at the wrong one. *)
Definition right_wrong_gap (n : nat) (direction : vector) (correct : mask) : R :=
  total_on n correct direction - total_on n (fun a => negb (correct a)) direction.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (direction : vector),
  n = 2%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (variance_along n 2 without_baseline logits (fun a => if correct a then 1 else 0) direction - variance_along n 2 with_mean_of_others logits (fun a => if correct a then 1 else 0) direction = total_on n correct (softmax n logits) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) * (right_wrong_gap n direction correct * right_wrong_gap n direction correct) * - total_on n correct (softmax n logits) / 2 /\
  variance_along n 3 without_baseline logits (fun a => if correct a then 1 else 0) direction - variance_along n 3 with_mean_of_others logits (fun a => if correct a then 1 else 0) direction = total_on n correct (softmax n logits) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) * (right_wrong_gap n direction correct * right_wrong_gap n direction correct) * (2 - 4 * total_on n correct (softmax n logits)) / 6 /\
  variance_along n 4 without_baseline logits (fun a => if correct a then 1 else 0) direction - variance_along n 4 with_mean_of_others logits (fun a => if correct a then 1 else 0) direction = total_on n correct (softmax n logits) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) * (right_wrong_gap n direction correct * right_wrong_gap n direction correct) * (4 - 7 * total_on n correct (softmax n logits)) / 12) /\
  (forall k : nat, (2 <= INR k) -> variance_along n k without_baseline logits (fun a => if correct a then 1 else 0) direction - variance_along n k with_mean_of_others logits (fun a => if correct a then 1 else 0) direction = total_on n correct (softmax n logits) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) * (right_wrong_gap n direction correct * right_wrong_gap n direction correct) * (2 * (INR k - 2) - (3 * INR k - 5) * total_on n correct (softmax n logits)) / (INR k * (INR k - 1))) /\
  (forall k : nat, (((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) /\ (total_on n correct (softmax n logits) < 2 * (INR k - 2) / (3 * INR k - 5))) -> variance_along n k with_mean_of_others logits (fun a => if correct a then 1 else 0) direction < variance_along n k without_baseline logits (fun a => if correct a then 1 else 0) direction) /\
  (forall k : nat, (((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) /\ (2 * (INR k - 2) / (3 * INR k - 5) < total_on n correct (softmax n logits))) -> variance_along n k without_baseline logits (fun a => if correct a then 1 else 0) direction < variance_along n k with_mean_of_others logits (fun a => if correct a then 1 else 0) direction).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (direction : vector),
  n = 2%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (direction : vector),
  n = 2%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists k : nat, (2 <= INR k)).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (direction : vector),
  n = 2%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists k : nat, (((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) /\ (total_on n correct (softmax n logits) < 2 * (INR k - 2) / (3 * INR k - 5)))).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (direction : vector),
  n = 2%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists k : nat, (((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) /\ (2 * (INR k - 2) / (3 * INR k - 5) < total_on n correct (softmax n logits)))).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (direction : vector),
  n = 2%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (0 < 2)%nat /\
  (1 < 2)%nat /\
  (0 < 3)%nat /\
  (1 < 3)%nat /\
  (0 < 4)%nat /\
  (1 < 4)%nat /\
  (forall k : nat, (2 <= INR k) -> (0 < k)%nat) /\
  (forall k : nat, (2 <= INR k) -> (1 < k)%nat) /\
  (forall k : nat, (2 <= INR k) -> INR k * (INR k - 1) <> 0) /\
  (forall k : nat, ((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) -> 3 * INR k - 5 <> 0) /\
  (forall k : nat, (((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) /\ (total_on n correct (softmax n logits) < 2 * (INR k - 2) / (3 * INR k - 5))) -> (1 < k)%nat) /\
  (forall k : nat, (((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) /\ (total_on n correct (softmax n logits) < 2 * (INR k - 2) / (3 * INR k - 5))) -> (0 < k)%nat) /\
  (forall k : nat, (((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) /\ (2 * (INR k - 2) / (3 * INR k - 5) < total_on n correct (softmax n logits))) -> (0 < k)%nat) /\
  (forall k : nat, (((2 <= INR k) /\ (0 < right_wrong_gap n direction correct * right_wrong_gap n direction correct)) /\ (2 * (INR k - 2) / (3 * INR k - 5) < total_on n correct (softmax n logits))) -> (1 < k)%nat).
