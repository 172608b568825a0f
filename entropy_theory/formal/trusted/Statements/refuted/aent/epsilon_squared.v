(* Generated from the formula of the claim aent.epsilon-squared (AEnt, Section 3, after Proposition 2, with the bias that it names as the price). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** P(s). *)
Definition visits (n : nat) (h : nat) (logits : state -> vector) : state -> R :=
  probability n logits.

(** P*(s): the visits of the soft policy. *)
Definition soft_visits (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : state -> R :=
  probability n (soft_policy n h coefficient (edge_reward h reward)).

(** min_s P(s)^2 min_a pi(a|s)^2 / P*(s). *)
Definition soft_constant (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : R :=
  - largest_states n h (fun s => - ((visits n h logits s * smallest n (softmax n (logits s))) ^ 2 / soft_visits n h logits reward coefficient s)).

(** The right responses: those of the largest return. *)
Definition is_right (n : nat) (h : nat) (reward : state -> R) : state -> bool :=
  fun y => equal (reward y) (largest_responses n h reward).

(** C(q): the probability of the likeliest right response. *)
Definition largest_right_probability (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : R :=
  largest_responses n h (fun y => if is_right n h reward y then probability n logits y else 0).

(** |A*|: the number of right responses. *)
Definition number_right (n : nat) (h : nat) (reward : state -> R) : R :=
  sum_responses n h (fun y => if is_right n h reward y then 1 else 0).

(** lambda (h log|A| - log|A*|) = lambda h log(|A|/|A*|^{1/h}). *)
Definition entropy_bias (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : R :=
  coefficient * (INR h * ln (INR n) - ln (number_right n h reward)).

Definition printed : Prop :=
  forall (n h : nat) (logits : state -> vector) (correct : state -> bool) (coefficient : R) (epsilon : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) ->
  0 < coefficient ->
  0 < epsilon ->
  largest_right_probability n h logits (fun y => if correct y then 1 else 0) * (epsilon ^ 2 + 2 * coefficient * soft_constant n h logits (fun y => if correct y then 1 else 0) coefficient * entropy_bias n h logits (fun y => if correct y then 1 else 0) coefficient) <= 2 * coefficient * soft_constant n h logits (fun y => if correct y then 1 else 0) coefficient * sqrt (INR h) * epsilon.

Definition soft_visits_defined (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) (s : state) : Prop :=
  coefficient <> 0.

Definition soft_constant_defined (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : Prop :=
  (forall s, state_of n h s -> soft_visits_defined n h logits reward coefficient s) /\
  (forall s, state_of n h s -> soft_visits n h logits reward coefficient s <> 0).

Definition entropy_bias_defined (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : Prop :=
  0 < INR n /\
  0 < number_right n h reward.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (correct : state -> bool) (coefficient : R) (epsilon : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) ->
  0 < coefficient ->
  0 < epsilon ->
  soft_constant_defined n h logits (fun y => if correct y then 1 else 0) coefficient /\
  0 <= INR h /\
  entropy_bias_defined n h logits (fun y => if correct y then 1 else 0) coefficient.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
