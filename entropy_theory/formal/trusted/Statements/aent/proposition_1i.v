(* Generated from the formula of the claim aent.proposition-1i (AEnt, Proposition 1 (I)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The sum of the absolute values over states and tokens. *)
Definition l1_norm (n : nat) (h : nat) (prompts : nat) (gradient : nat -> state -> nat -> R) : nat -> R :=
  fun q => sum_states n h (fun s => sum n (fun a => Rabs (gradient q s a))).

(** grad V, at each state and token: d(s) pi(a|s) (Q(s, a) - V(s)). *)
Definition value_gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) : nat -> state -> nat -> R :=
  fun q s a => probability n (logits q) s * softmax n (logits q s) a * (action_value n h (logits q) (edge_reward h (reward q)) s a - value_at n h (logits q) (edge_reward h (reward q)) s).

Definition statement : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  (forall q, (q < prompts)%nat -> forall y, response_of n h y -> 0 <= reward q y) ->
  (forall q, (q < prompts)%nat -> forall y, response_of n h y -> reward q y <= 1) ->
  sum prompts (l1_norm n h prompts (value_gradient n h prompts logits reward)) / INR prompts <= 2 * (sum prompts (fun q => response_entropy n h (logits q)) / INR prompts) /\
  (forall direction : nat -> state -> nat -> R, (derivative (fun t => sum prompts (fun q => mean_responses n h (fun s a => logits q s a + t * direction q s a) (reward q)) / INR prompts) (0) (sum prompts (fun q => sum_states n h (fun s => sum n (fun a => value_gradient n h prompts logits reward q s a / INR prompts * direction q s a)))))).

Definition witness : Prop :=
  exists (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (1 <= prompts)%nat /\
  (forall q, (q < prompts)%nat -> forall y, response_of n h y -> 0 <= reward q y) /\
  (forall q, (q < prompts)%nat -> forall y, response_of n h y -> reward q y <= 1).

Definition defined : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  (forall q, (q < prompts)%nat -> forall y, response_of n h y -> 0 <= reward q y) ->
  (forall q, (q < prompts)%nat -> forall y, response_of n h y -> reward q y <= 1) ->
  INR prompts <> 0.
