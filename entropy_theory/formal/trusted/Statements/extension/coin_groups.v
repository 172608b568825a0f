(* Generated from the formula of the claim extension.coin-groups (Extension of AEPO, section 3.1 (a group's advantages)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions Groups.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (direction : vector) (chance : R),
  (2 <= n)%nat ->
  0 < chance ->
  chance < 1 ->
  (square_along_with_coins n 2 0 logits direction chance = 2 * (1 - chance ^ 2 - (1 - chance) ^ 2) / 4 * covariance n (softmax n logits) direction direction /\
  square_along_with_coins n 2 1 logits direction chance = (1 - chance ^ 2 - (1 - chance) ^ 2) / 4 * covariance n (softmax n logits) direction direction /\
  square_along_with_coins n 3 0 logits direction chance = 3 * (1 - chance ^ 3 - (1 - chance) ^ 3) / 9 * covariance n (softmax n logits) direction direction /\
  square_along_with_coins n 3 1 logits direction chance = 2 * (1 - chance ^ 3 - (1 - chance) ^ 3) / 9 * covariance n (softmax n logits) direction direction) /\
  (forall k : nat, (2 <= INR k) -> square_along_with_coins n k 0 logits direction chance = INR k * (1 - exp (INR k * ln chance) - exp (INR k * ln (1 - chance))) / (INR k * INR k) * covariance n (softmax n logits) direction direction) /\
  (forall k : nat, (2 <= INR k) -> square_along_with_coins n k 1 logits direction chance = (INR k - 1) * (1 - exp (INR k * ln chance) - exp (INR k * ln (1 - chance))) / (INR k * INR k) * covariance n (softmax n logits) direction direction).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (direction : vector) (chance : R),
  (2 <= n)%nat /\
  0 < chance /\
  chance < 1.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (direction : vector) (chance : R),
  (2 <= n)%nat /\
  0 < chance /\
  chance < 1 /\
  (exists k : nat, (2 <= INR k)).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (direction : vector) (chance : R),
  (2 <= n)%nat /\
  0 < chance /\
  chance < 1 /\
  (exists k : nat, (2 <= INR k)).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (direction : vector) (chance : R),
  (2 <= n)%nat ->
  0 < chance ->
  chance < 1 ->
  (0 < 2)%nat /\
  (1 < 2)%nat /\
  (0 < 3)%nat /\
  (1 < 3)%nat /\
  (forall k : nat, (2 <= INR k) -> (0 < k)%nat) /\
  (forall k : nat, (2 <= INR k) -> 0 < chance) /\
  (forall k : nat, (2 <= INR k) -> 0 < (1 - chance)) /\
  (forall k : nat, (2 <= INR k) -> INR k * INR k <> 0) /\
  (forall k : nat, (2 <= INR k) -> (1 < k)%nat).
