(* Generated from the formula of the claim extension.sampled-group-variance (Extension of AEPO, section 3.1 (a group's advantages)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions Groups.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat ->
  (variance_along n 2 without_baseline logits reward direction = covariance n (softmax n logits) (fun a => reward a * centered n (softmax n logits) direction a) (fun a => reward a * centered n (softmax n logits) direction a) / 2 /\
  variance_along n 2 with_mean_of_others logits reward direction = covariance n (softmax n logits) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) / 2 + (covariance n (softmax n logits) reward reward * covariance n (softmax n logits) direction direction + covariance n (softmax n logits) reward direction * covariance n (softmax n logits) reward direction) / 2 /\
  variance_along n 2 with_group_mean logits reward direction = (covariance n (softmax n logits) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) / 2 + (covariance n (softmax n logits) reward reward * covariance n (softmax n logits) direction direction + covariance n (softmax n logits) reward direction * covariance n (softmax n logits) reward direction) / 2) / 4 /\
  variance_along n 3 without_baseline logits reward direction = covariance n (softmax n logits) (fun a => reward a * centered n (softmax n logits) direction a) (fun a => reward a * centered n (softmax n logits) direction a) / 3 /\
  variance_along n 3 with_mean_of_others logits reward direction = covariance n (softmax n logits) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) / 3 + (covariance n (softmax n logits) reward reward * covariance n (softmax n logits) direction direction + covariance n (softmax n logits) reward direction * covariance n (softmax n logits) reward direction) / 6 /\
  variance_along n 3 with_group_mean logits reward direction = 4 * (covariance n (softmax n logits) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) / 3 + (covariance n (softmax n logits) reward reward * covariance n (softmax n logits) direction direction + covariance n (softmax n logits) reward direction * covariance n (softmax n logits) reward direction) / 6) / 9) /\
  (forall k : nat, (2 <= INR k) -> variance_along n k without_baseline logits reward direction = covariance n (softmax n logits) (fun a => reward a * centered n (softmax n logits) direction a) (fun a => reward a * centered n (softmax n logits) direction a) / INR k) /\
  (forall k : nat, (2 <= INR k) -> variance_along n k with_mean_of_others logits reward direction = covariance n (softmax n logits) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) / INR k + (covariance n (softmax n logits) reward reward * covariance n (softmax n logits) direction direction + covariance n (softmax n logits) reward direction * covariance n (softmax n logits) reward direction) / (INR k * (INR k - 1))) /\
  (forall k : nat, (2 <= INR k) -> variance_along n k with_group_mean logits reward direction = (1 - 1 / INR k) * (1 - 1 / INR k) * (covariance n (softmax n logits) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) (fun a => centered n (softmax n logits) reward a * centered n (softmax n logits) direction a) / INR k + (covariance n (softmax n logits) reward reward * covariance n (softmax n logits) direction direction + covariance n (softmax n logits) reward direction * covariance n (softmax n logits) reward direction) / (INR k * (INR k - 1)))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat /\
  (exists k : nat, (2 <= INR k)).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat /\
  (exists k : nat, (2 <= INR k)).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat /\
  (exists k : nat, (2 <= INR k)).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat ->
  (0 < 2)%nat /\
  (1 < 2)%nat /\
  (0 < 3)%nat /\
  (1 < 3)%nat /\
  (forall k : nat, (2 <= INR k) -> (0 < k)%nat) /\
  (forall k : nat, (2 <= INR k) -> INR k <> 0) /\
  (forall k : nat, (2 <= INR k) -> (1 < k)%nat) /\
  (forall k : nat, (2 <= INR k) -> INR k * (INR k - 1) <> 0).
