(* Generated from the formula of the claim extension.group-normalization-gain (Extension of AEPO, section 3.1 (GRPO's advantage)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step_without_temperature (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  ((forall a, (a < n)%nat -> expected_group_step n 2 0 logits correct a = group_gain 2 0 (total_on n correct (softmax n logits)) (total_on n (fun b => negb (correct b)) (softmax n logits)) * unit_step_without_temperature n logits correct a) /\
  (forall a, (a < n)%nat -> expected_group_step n 2 1 logits correct a = group_gain 2 1 (total_on n correct (softmax n logits)) (total_on n (fun b => negb (correct b)) (softmax n logits)) * unit_step_without_temperature n logits correct a) /\
  (forall a, (a < n)%nat -> expected_group_step n 3 0 logits correct a = group_gain 3 0 (total_on n correct (softmax n logits)) (total_on n (fun b => negb (correct b)) (softmax n logits)) * unit_step_without_temperature n logits correct a) /\
  (forall a, (a < n)%nat -> expected_group_step n 3 1 logits correct a = group_gain 3 1 (total_on n correct (softmax n logits)) (total_on n (fun b => negb (correct b)) (softmax n logits)) * unit_step_without_temperature n logits correct a) /\
  (forall a, (a < n)%nat -> expected_group_step n 4 0 logits correct a = group_gain 4 0 (total_on n correct (softmax n logits)) (total_on n (fun b => negb (correct b)) (softmax n logits)) * unit_step_without_temperature n logits correct a) /\
  (forall a, (a < n)%nat -> expected_group_step n 4 1 logits correct a = group_gain 4 1 (total_on n correct (softmax n logits)) (total_on n (fun b => negb (correct b)) (softmax n logits)) * unit_step_without_temperature n logits correct a)) /\
  (forall k : nat, (2 <= INR k) -> forall a, (a < n)%nat -> expected_group_step n k 0 logits correct a = group_gain k 0 (total_on n correct (softmax n logits)) (total_on n (fun b => negb (correct b)) (softmax n logits)) * unit_step_without_temperature n logits correct a) /\
  (forall k : nat, (2 <= INR k) -> forall a, (a < n)%nat -> expected_group_step n k 1 logits correct a = group_gain k 1 (total_on n correct (softmax n logits)) (total_on n (fun b => negb (correct b)) (softmax n logits)) * unit_step_without_temperature n logits correct a) /\
  (forall direction : vector, (derivative (fun t => total_on n correct (softmax n (fun b => logits b + t * direction b))) (0) (sum n (fun a => unit_step_without_temperature n logits correct a * direction a)))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (exists k : nat, (2 <= INR k)).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (exists k : nat, (2 <= INR k)).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (0 < 2)%nat /\
  (1 < 2)%nat /\
  (0 < 3)%nat /\
  (1 < 3)%nat /\
  (0 < 4)%nat /\
  (1 < 4)%nat /\
  (forall k : nat, (2 <= INR k) -> (0 < k)%nat) /\
  (forall k : nat, (2 <= INR k) -> (1 < k)%nat).
