(* Generated from the formula of the claim extension.level-set-step (Extension (entropy control, tabular)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** grad E[r] = pi (r - E r). *)
Definition reward_gradient (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) reward a.

(** <h, h> times the reward's gradient g minus its component along the entropy's gradient h. *)
Definition scaled_step (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => sum n (fun b => entropy_gradient n logits b * entropy_gradient n logits b) * reward_gradient n logits reward a - sum n (fun b => reward_gradient n logits reward b * entropy_gradient n logits b) * entropy_gradient n logits a.

(** The reward's gradient g minus its component along the entropy's gradient h; g where h is zero. *)
Definition level_step (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => reward_gradient n logits reward a - (if less 0 (sum n (fun b => entropy_gradient n logits b * entropy_gradient n logits b)) then sum n (fun b => reward_gradient n logits reward b * entropy_gradient n logits b) / sum n (fun b => entropy_gradient n logits b * entropy_gradient n logits b) else 0) * entropy_gradient n logits a.

(** J = E[r]. *)
Definition performance (n : nat) (logits : vector) (reward : vector) : R :=
  mean n (softmax n logits) reward.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  (sum n (fun a => entropy_gradient n logits a * scaled_step n logits reward a) = 0 /\
  sum n (fun a => entropy_gradient n logits a * entropy_gradient n logits a) * sum n (fun a => reward_gradient n logits reward a * scaled_step n logits reward a) = sum n (fun a => scaled_step n logits reward a * scaled_step n logits reward a)) /\
  derivative (fun t => entropy n (fun a => logits a + t * level_step n logits reward a)) (0) (0) /\
  derivative (fun t => performance n (fun a => logits a + t * level_step n logits reward a) reward) (0) (sum n (fun a => level_step n logits reward a * level_step n logits reward a)) /\
  ((forall a, (a < n)%nat -> level_step n logits reward a = 0) -> forall direction : vector, ((sum n (fun a => entropy_gradient n logits a * direction a) = 0) -> sum n (fun a => reward_gradient n logits reward a * direction a) = 0)) /\
  ((forall direction : vector, ((sum n (fun a => entropy_gradient n logits a * direction a) = 0) -> sum n (fun a => reward_gradient n logits reward a * direction a) = 0)) -> forall a, (a < n)%nat -> level_step n logits reward a = 0).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat /\
  (forall a, (a < n)%nat -> 0 <= reward a) /\
  (forall a, (a < n)%nat -> reward a <= 1).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat /\
  (forall a, (a < n)%nat -> 0 <= reward a) /\
  (forall a, (a < n)%nat -> reward a <= 1) /\
  (forall a, (a < n)%nat -> level_step n logits reward a = 0) /\ (exists direction : vector, (sum n (fun a => entropy_gradient n logits a * direction a) = 0)).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat /\
  (forall a, (a < n)%nat -> 0 <= reward a) /\
  (forall a, (a < n)%nat -> reward a <= 1) /\
  (forall direction : vector, ((sum n (fun a => entropy_gradient n logits a * direction a) = 0) -> sum n (fun a => reward_gradient n logits reward a * direction a) = 0)).

Definition level_step_defined (n : nat) (logits : vector) (reward : vector) (a : nat) : Prop :=
  ((0 < sum n (fun b => entropy_gradient n logits b * entropy_gradient n logits b)) -> sum n (fun b => entropy_gradient n logits b * entropy_gradient n logits b) <> 0).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  (forall a, (a < n)%nat -> level_step_defined n logits reward a) /\
  ((forall direction : vector, ((sum n (fun a => entropy_gradient n logits a * direction a) = 0) -> sum n (fun a => reward_gradient n logits reward a * direction a) = 0)) -> forall a, (a < n)%nat -> level_step_defined n logits reward a).
