(* Generated from the formula of the claim entropy-mechanism.performance-after-collapse (Review of Entropy Mechanism, 'What would settle it'). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** dR/dt under the natural policy gradient: Var(r). *)
Definition natural_rate (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward reward.

(** dR/dt under the policy gradient: E[pi (r - R)^2]. *)
Definition plain_rate (n : nat) (logits : vector) (reward : vector) : R :=
  mean n (softmax n logits) (fun a => softmax n logits a * centered n (softmax n logits) reward a * centered n (softmax n logits) reward a).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  4 * ln 2 * natural_rate n logits reward <= entropy n logits /\
  derivative (fun t => mean n (softmax n (fun b => logits b + t * centered n (softmax n logits) reward b)) reward) (0) (natural_rate n logits reward) /\
  derivative (fun t => mean n (softmax n (fun b => logits b + t * (softmax n logits b * centered n (softmax n logits) reward b))) reward) (0) (plain_rate n logits reward) /\
  plain_rate n logits reward <= natural_rate n logits reward.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat /\
  (forall a, (a < n)%nat -> 0 <= reward a) /\
  (forall a, (a < n)%nat -> reward a <= 1).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  0 < 2.
