(* Generated from the formula of the claim extension.gradient-entropy-network (Extension of AEnt, Proposition 1 (I), to any differentiable parametrization). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** <grad V, v> = Cov_pi(r, v): how fast the expected reward moves where the logits move at v. *)
Definition reward_rate (n : nat) (logits : vector) (reward : vector) (velocity : vector) : R :=
  covariance n (softmax n logits) reward velocity.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (velocity : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  8 * ln 2 ^ 2 * reward_rate n logits reward velocity ^ 2 <= entropy n logits ^ 2 * sum n (fun a => velocity a * velocity a) /\
  (forall path : R -> nat -> R, ((forall a, (a < n)%nat -> derivative (fun t => path t a) (0) (velocity a)) -> derivative (fun t => mean n (softmax n (path t)) reward) (0) (reward_rate n (path 0) reward velocity))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (velocity : vector) (reward : vector),
  (2 <= n)%nat /\
  (forall a, (a < n)%nat -> 0 <= reward a) /\
  (forall a, (a < n)%nat -> reward a <= 1).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (velocity : vector) (reward : vector),
  (2 <= n)%nat /\
  (forall a, (a < n)%nat -> 0 <= reward a) /\
  (forall a, (a < n)%nat -> reward a <= 1) /\
  (exists path : R -> nat -> R, (forall a, (a < n)%nat -> derivative (fun t => path t a) (0) (velocity a))).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (velocity : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  0 < 2.
