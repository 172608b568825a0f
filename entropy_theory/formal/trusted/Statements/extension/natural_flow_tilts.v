(* Generated from the formula of the claim extension.natural-flow-tilts (Extension of Entropy Mechanism, Theorem 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** z(s, a) + log E[e^{t R} | s, a]: where the natural flow is at time t. *)
Definition flowed (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R) : state -> vector :=
  fun s a => logits s a + ln (action_value n h logits (edge_reward h (fun y => exp (elapsed * reward y))) s a).

(** pi(y) e^{t R(y)} / E[e^{t R}]. *)
Definition tilted_probabilities (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R) : state -> R :=
  fun y => probability n logits y * exp (elapsed * reward y) / mean_responses n h logits (fun x => exp (elapsed * reward x)).

(** A(s, a), for a reward of responses. *)
Definition advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => centered n (softmax n (logits s)) (action_value n h logits (edge_reward h reward) s) a.

(** V(s), for a reward of responses. *)
Definition state_values (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> R :=
  value_at n h logits (edge_reward h reward).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 < elapsed ->
  (forall y, response_of n h y -> probability n (flowed n h logits reward elapsed) y = tilted_probabilities n h logits reward elapsed y) /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t => flowed n h logits reward t s a) (elapsed) (advantage n h (flowed n h logits reward elapsed) reward s a + state_values n h (flowed n h logits reward elapsed) reward s)) /\
  (forall path : R -> state -> nat -> R, ((forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) reward s a))) -> forall y, response_of n h y -> probability n (path elapsed) y = tilted_probabilities n h (path 0) reward elapsed y)).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  0 < elapsed.

Definition witness_1 : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  0 < elapsed /\
  (exists path : R -> state -> nat -> R, (forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) reward s a)))).

Definition flowed_defined (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R) (s : state) (a : nat) : Prop :=
  0 < action_value n h logits (edge_reward h (fun y => exp (elapsed * reward y))) s a.

Definition tilted_probabilities_defined (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R) (y : state) : Prop :=
  mean_responses n h logits (fun x => exp (elapsed * reward x)) <> 0.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 < elapsed ->
  (forall u, state_of n h u -> forall b, (b < n)%nat -> flowed_defined n h logits reward elapsed u b) /\
  (forall y, response_of n h y -> tilted_probabilities_defined n h logits reward elapsed y) /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> forall t : R, t = elapsed -> flowed_defined n h logits reward t s a) /\
  (forall path : R -> state -> nat -> R, (forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) reward s a))) -> forall y, response_of n h y -> tilted_probabilities_defined n h (path 0) reward elapsed y).
