(* Generated from the formula of the claim aent.lemma-5 (AEnt, Lemma 5 (A.32)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** V_lambda at the root: the expected return plus lambda times the entropy of responses. *)
Definition regularized_value (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : R :=
  mean_responses n h logits reward + coefficient * response_entropy n h logits.

(** V_lambda^{pi*_lambda} - V_lambda^pi. *)
Definition soft_gap (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : R :=
  regularized_value n h (soft_policy n h coefficient (edge_reward h reward)) reward coefficient - regularized_value n h logits reward coefficient.

(** V* - V^pi. *)
Definition true_gap (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : R :=
  largest_responses n h reward - mean_responses n h logits reward.

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (correct : state -> bool) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) ->
  0 < coefficient ->
  (true_gap n h logits (fun y => if correct y then 1 else 0) <= soft_gap n h logits (fun y => if correct y then 1 else 0) coefficient + coefficient * (INR h * ln (INR n) - ln (sum_responses n h (fun y => if correct y then 1 else 0))) /\
  true_gap n h (soft_policy n h coefficient (edge_reward h (fun y => if correct y then 1 else 0))) (fun y => if correct y then 1 else 0) <= coefficient * (INR h * ln (INR n) - ln (sum_responses n h (fun y => if correct y then 1 else 0)))) /\
  (forall policy : state -> vector, (regularized_value n h policy (fun y => if correct y then 1 else 0) coefficient <= regularized_value n h (soft_policy n h coefficient (edge_reward h (fun y => if correct y then 1 else 0))) (fun y => if correct y then 1 else 0) coefficient)).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (correct : state -> bool) (coefficient : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (exists y, response_of n h y /\ correct y = true) /\
  0 < coefficient.

Definition soft_gap_defined (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : Prop :=
  coefficient <> 0.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (correct : state -> bool) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) ->
  0 < coefficient ->
  soft_gap_defined n h logits (fun y => if correct y then 1 else 0) coefficient /\
  0 < INR n /\
  0 < sum_responses n h (fun y => if correct y then 1 else 0) /\
  coefficient <> 0.
