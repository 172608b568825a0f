(* Generated from the formula of the claim extension.level-set-flow (Extension (entropy control, tabular)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** grad E[r] = pi (r - E r). *)
Definition reward_gradient (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) reward a.

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
  0 <= sum n (fun a => sum n (fun b => (reward_gradient n logits reward a * entropy_gradient n logits b - entropy_gradient n logits a * reward_gradient n logits reward b) * (reward_gradient n logits reward a * entropy_gradient n logits b - entropy_gradient n logits a * reward_gradient n logits reward b))) / 2 /\
  (forall path : R -> nat -> R, ((forall time : R, (forall a, (a < n)%nat -> derivative (fun t => path t a) (time) (level_step n (path time) reward a))) -> forall start : R, (forall stop : R, (start <= stop) -> (((entropy n (path stop) = entropy n (path start)) /\ (performance n (path start) reward <= performance n (path stop) reward)) /\ (forall moment : R, ((start <= moment) /\ (moment <= stop)) -> (((start < stop) /\ (~ (forall a, (a < n)%nat -> level_step n (path moment) reward a = 0))) -> performance n (path start) reward < performance n (path stop) reward)))))).

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
  (exists path : R -> nat -> R, (forall time : R, (forall a, (a < n)%nat -> derivative (fun t => path t a) (time) (level_step n (path time) reward a))) /\ (exists start : R, (exists stop : R, (start <= stop)))).

Definition level_step_defined (n : nat) (logits : vector) (reward : vector) (a : nat) : Prop :=
  ((0 < sum n (fun b => entropy_gradient n logits b * entropy_gradient n logits b)) -> sum n (fun b => entropy_gradient n logits b * entropy_gradient n logits b) <> 0).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  (forall path : R -> nat -> R, forall time : R, forall a, (a < n)%nat -> level_step_defined n (path time) reward a) /\
  (forall path : R -> nat -> R, (forall time : R, (forall a, (a < n)%nat -> derivative (fun t => path t a) (time) (level_step n (path time) reward a))) -> forall start : R, forall stop : R, (start <= stop) -> ((entropy n (path stop) = entropy n (path start)) /\ (performance n (path start) reward <= performance n (path stop) reward)) -> forall moment : R, ((start <= moment) /\ (moment <= stop)) -> (start < stop) -> forall a, (a < n)%nat -> level_step_defined n (path moment) reward a).
