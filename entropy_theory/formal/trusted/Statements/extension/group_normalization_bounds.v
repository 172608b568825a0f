(* Generated from the formula of the claim extension.group-normalization-bounds (Extension of AEPO, section 3.1 (GRPO's advantage)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (2 - 2 / 4 <= group_gain 4 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  sqrt 3 * (total_on n (fun a => negb (correct a)) (softmax n logits) ^ 2 + total_on n correct (softmax n logits) ^ 2) <= group_gain 4 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  group_gain 4 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= sqrt 3 /\
  group_gain 4 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * group_gain 4 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) <= 1 - 1 / 4 /\
  2 - 2 / 8 <= group_gain 8 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  sqrt 7 * (total_on n (fun a => negb (correct a)) (softmax n logits) ^ 6 + total_on n correct (softmax n logits) ^ 6) <= group_gain 8 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  group_gain 8 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= sqrt 7 /\
  group_gain 8 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * group_gain 8 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) <= 1 - 1 / 8 /\
  2 - 2 / 16 <= group_gain 16 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  sqrt 15 * (total_on n (fun a => negb (correct a)) (softmax n logits) ^ 14 + total_on n correct (softmax n logits) ^ 14) <= group_gain 16 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  group_gain 16 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= sqrt 15 /\
  group_gain 16 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * group_gain 16 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) <= 1 - 1 / 16 /\
  2 - 2 / 64 <= group_gain 64 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  sqrt 63 * (total_on n (fun a => negb (correct a)) (softmax n logits) ^ 62 + total_on n correct (softmax n logits) ^ 62) <= group_gain 64 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  group_gain 64 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= sqrt 63 /\
  group_gain 64 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * group_gain 64 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) <= 1 - 1 / 64) /\
  (forall k : nat, (3 <= INR k) -> (((2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) /\ (sqrt (INR k - 1) * (exp ((INR k - 2) * ln (total_on n (fun a => negb (correct a)) (softmax n logits))) + exp ((INR k - 2) * ln (total_on n correct (softmax n logits)))) <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)))) /\ (group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= sqrt (INR k - 1))) /\ (group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) <= 1 - 1 / INR k)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists k : nat, (3 <= INR k)).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (0 < 4)%nat /\
  0 <= 3 /\
  (0 < 8)%nat /\
  0 <= 7 /\
  (0 < 16)%nat /\
  0 <= 15 /\
  (0 < 64)%nat /\
  0 <= 63 /\
  (forall k : nat, (3 <= INR k) -> INR k <> 0) /\
  (forall k : nat, (3 <= INR k) -> (0 < k)%nat) /\
  (forall k : nat, (3 <= INR k) -> (2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) -> 0 <= INR k - 1) /\
  (forall k : nat, (3 <= INR k) -> (2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) -> 0 < total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  (forall k : nat, (3 <= INR k) -> (2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) -> 0 < total_on n correct (softmax n logits)) /\
  (forall k : nat, (3 <= INR k) -> (2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) -> (0 < k)%nat) /\
  (forall k : nat, (3 <= INR k) -> ((2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) /\ (sqrt (INR k - 1) * (exp ((INR k - 2) * ln (total_on n (fun a => negb (correct a)) (softmax n logits))) + exp ((INR k - 2) * ln (total_on n correct (softmax n logits)))) <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)))) -> (0 < k)%nat) /\
  (forall k : nat, (3 <= INR k) -> ((2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) /\ (sqrt (INR k - 1) * (exp ((INR k - 2) * ln (total_on n (fun a => negb (correct a)) (softmax n logits))) + exp ((INR k - 2) * ln (total_on n correct (softmax n logits)))) <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)))) -> 0 <= INR k - 1) /\
  (forall k : nat, (3 <= INR k) -> (((2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) /\ (sqrt (INR k - 1) * (exp ((INR k - 2) * ln (total_on n (fun a => negb (correct a)) (softmax n logits))) + exp ((INR k - 2) * ln (total_on n correct (softmax n logits)))) <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)))) /\ (group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= sqrt (INR k - 1))) -> (0 < k)%nat) /\
  (forall k : nat, (3 <= INR k) -> (((2 - 2 / INR k <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) /\ (sqrt (INR k - 1) * (exp ((INR k - 2) * ln (total_on n (fun a => negb (correct a)) (softmax n logits))) + exp ((INR k - 2) * ln (total_on n correct (softmax n logits)))) <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)))) /\ (group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= sqrt (INR k - 1))) -> INR k <> 0).
