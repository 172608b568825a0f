(* Generated from the formula of the claim extension.group-normalization-limit (Extension of AEPO, section 3.1 (GRPO's advantage)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (3 / sqrt (3 + 2 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <= group_gain 4 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  7 / sqrt (7 + 30 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <= group_gain 8 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  15 / sqrt (15 + 182 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <= group_gain 16 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  63 / sqrt (63 + 3782 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <= group_gain 64 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) /\
  (forall k : nat, (2 <= INR k) -> (INR k - 1) / sqrt (INR k - 1 + (INR k - 2) * (INR k - 3) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <= group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) /\
  (forall k : nat, (2 <= INR k) -> 0 < group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) /\
  (forall k : nat, (2 <= INR k) -> group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) = group_gain k 0 (total_on n (fun a => negb (correct a)) (softmax n logits)) (total_on n correct (softmax n logits))) /\
  (forall k : nat, (2 <= INR k) -> group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= 1 / sqrt (total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits))) /\
  (forall k : nat, (2 <= INR k) -> 1 / sqrt (total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) - group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits)) <= 1 / (2 * (INR k - 1) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) * sqrt (total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)))) /\
  tends_to (fun k => group_gain (S k) 0 (total_on n correct (softmax n logits)) (total_on n (fun a => negb (correct a)) (softmax n logits))) (1 / sqrt (total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits))) /\
  (forall a, (a < n)%nat -> expected_group_step n 1 0 logits correct a = 0).

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
  (exists k : nat, (2 <= INR k)).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists k : nat, (2 <= INR k)).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists k : nat, (2 <= INR k)).

Definition witness_4 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists k : nat, (2 <= INR k)).

Definition witness_5 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists k : nat, (2 <= INR k)).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (0 < 4)%nat /\
  0 <= 3 + 2 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) /\
  sqrt (3 + 2 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <> 0 /\
  (0 < 8)%nat /\
  0 <= 7 + 30 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) /\
  sqrt (7 + 30 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <> 0 /\
  (0 < 16)%nat /\
  0 <= 15 + 182 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) /\
  sqrt (15 + 182 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <> 0 /\
  (0 < 64)%nat /\
  0 <= 63 + 3782 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) /\
  sqrt (63 + 3782 * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <> 0 /\
  (forall k : nat, (2 <= INR k) -> 0 <= INR k - 1 + (INR k - 2) * (INR k - 3) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  (forall k : nat, (2 <= INR k) -> sqrt (INR k - 1 + (INR k - 2) * (INR k - 3) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <> 0) /\
  (forall k : nat, (2 <= INR k) -> (0 < k)%nat) /\
  (forall k : nat, (2 <= INR k) -> 0 <= total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  (forall k : nat, (2 <= INR k) -> sqrt (total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <> 0) /\
  (forall k : nat, (2 <= INR k) -> 2 * (INR k - 1) * total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) * sqrt (total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <> 0) /\
  (forall k : nat, (0 < (S k))%nat) /\
  0 <= total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits) /\
  sqrt (total_on n correct (softmax n logits) * total_on n (fun a => negb (correct a)) (softmax n logits)) <> 0 /\
  (0 < 1)%nat.
