(* Generated from the formula of the claim extension.sampled-group-mean (Extension of AEPO, section 3.1 (a group's advantages)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions Groups.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat ->
  (mean_along n 2 without_baseline logits reward direction = covariance n (softmax n logits) reward direction /\
  mean_along n 2 with_mean_of_others logits reward direction = covariance n (softmax n logits) reward direction /\
  mean_along n 2 with_group_mean logits reward direction = covariance n (softmax n logits) reward direction - covariance n (softmax n logits) reward direction / 2 /\
  mean_along n 3 without_baseline logits reward direction = covariance n (softmax n logits) reward direction /\
  mean_along n 3 with_mean_of_others logits reward direction = covariance n (softmax n logits) reward direction /\
  mean_along n 3 with_group_mean logits reward direction = covariance n (softmax n logits) reward direction - covariance n (softmax n logits) reward direction / 3) /\
  (forall k : nat, (1 <= INR k) -> mean_along n k without_baseline logits reward direction = covariance n (softmax n logits) reward direction) /\
  (forall k : nat, (2 <= INR k) -> mean_along n k with_mean_of_others logits reward direction = covariance n (softmax n logits) reward direction) /\
  (forall k : nat, (1 <= INR k) -> mean_along n k with_group_mean logits reward direction = covariance n (softmax n logits) reward direction - covariance n (softmax n logits) reward direction / INR k) /\
  derivative (fun t => mean n (softmax n (fun b => logits b + t * direction b)) reward) (0) (covariance n (softmax n logits) reward direction) /\
  derivative (fun t => entropy n (fun a => logits a + t * (softmax n logits a * centered n (softmax n logits) reward a))) (0) (covariance n (softmax n logits) reward (entropy_gradient n logits)) /\
  (forall k : nat, (1 <= INR k) -> mean_along n k with_group_mean logits reward (entropy_gradient n logits) = covariance n (softmax n logits) reward (entropy_gradient n logits) - covariance n (softmax n logits) reward (entropy_gradient n logits) / INR k).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat /\
  (exists k : nat, (1 <= INR k)).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat /\
  (exists k : nat, (2 <= INR k)).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat /\
  (exists k : nat, (1 <= INR k)).

Definition witness_4 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat /\
  (exists k : nat, (1 <= INR k)).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (direction : vector),
  (2 <= n)%nat ->
  (0 < 2)%nat /\
  (1 < 2)%nat /\
  (0 < 3)%nat /\
  (1 < 3)%nat /\
  (forall k : nat, (1 <= INR k) -> (0 < k)%nat) /\
  (forall k : nat, (2 <= INR k) -> (1 < k)%nat) /\
  (forall k : nat, (1 <= INR k) -> INR k <> 0).
