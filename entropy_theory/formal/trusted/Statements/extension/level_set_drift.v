(* Generated from the formula of the claim extension.level-set-drift (Extension (entropy control, tabular)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** grad E[r] = pi (r - E r). *)
Definition reward_gradient (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) reward a.

(** <h, h> times the reward's gradient g minus its component along the entropy's gradient h. *)
Definition scaled_step (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => sum n (fun b => entropy_gradient n logits b * entropy_gradient n logits b) * reward_gradient n logits reward a - sum n (fun b => reward_gradient n logits reward b * entropy_gradient n logits b) * entropy_gradient n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (size : R),
  (3 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  0 < size ->
  Rabs (entropy_change n logits (fun a => size * scaled_step n logits reward a)) <= (25 + 8 * ln (INR n)) / 40 * sum n (fun a => size * scaled_step n logits reward a * (size * scaled_step n logits reward a)) / 2.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (size : R),
  (3 <= n)%nat /\
  (forall a, (a < n)%nat -> 0 <= reward a) /\
  (forall a, (a < n)%nat -> reward a <= 1) /\
  0 < size.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (size : R),
  (3 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  0 < size ->
  0 < INR n.
