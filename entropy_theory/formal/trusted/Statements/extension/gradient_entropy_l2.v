(* Generated from the formula of the claim extension.gradient-entropy-l2 (Extension of AEnt, Proposition 1 (I)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The sum of squares over states and tokens. *)
Definition square_of_l2_norm (n : nat) (h : nat) (gradient : state -> vector) : R :=
  sum_states n h (fun s => sum n (fun a => gradient s a * gradient s a)).

(** grad V, at each state and token: d(s) pi(a|s) (Q(s, a) - V(s)). *)
Definition value_gradient (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => probability n logits s * softmax n (logits s) a * (action_value n h logits (edge_reward h reward) s a - value_at n h logits (edge_reward h reward) s).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (forall y, response_of n h y -> 0 <= reward y) ->
  (forall y, response_of n h y -> reward y <= 1) ->
  8 * ln 2 ^ 2 * square_of_l2_norm n h (value_gradient n h logits reward) <= response_entropy n h logits ^ 2 /\
  (forall direction : state -> vector, (derivative (fun t => mean_responses n h (fun s a => logits s a + t * direction s a) reward) (0) (sum_states n h (fun s => sum n (fun a => value_gradient n h logits reward s a * direction s a))))).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (forall y, response_of n h y -> 0 <= reward y) /\
  (forall y, response_of n h y -> reward y <= 1).

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (forall y, response_of n h y -> 0 <= reward y) ->
  (forall y, response_of n h y -> reward y <= 1) ->
  0 < 2.
