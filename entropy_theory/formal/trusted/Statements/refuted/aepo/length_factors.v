(* Generated from the formula of the claim aepo.length-factors (AEPO, Sections 3.1, 4.2 and Eq. (1)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** E_{o ~ pi^T} factor(o) sum_{t <= |o|} grad log pi(o_t | o_{<t}), for each state and token. *)
Definition policy_update (n : nat) (h : nat) (logits : state -> vector) (factor : state -> R) (temperature : R) : state -> vector :=
  fun s a => if running (fun _ b => Nat.eqb b 0) s then total_through n h (fun y => probability n (fun u b => logits u b / temperature) y * factor y) s a - sum n (total_through n h (fun y => probability n (fun u c => logits u c / temperature) y * factor y) s) * softmax n (logits s) a else 0.

(** [..., states, tokens]: the reward, at the tokens that end a response. *)
Definition ending_reward (n : nat) (h : nat) (logits : state -> vector) (reward : state -> vector) : state -> vector :=
  fun s a => if andb (running (fun _ b => Nat.eqb b 0) s) (orb (Nat.eqb a 0) (Nat.eqb (S (length s)) h)) then reward s a else 0.

(** [..., responses]: the reward of each response. *)
Definition rewards (n : nat) (h : nat) (logits : state -> vector) (reward : state -> vector) : state -> R :=
  sum_along (ending_reward n h logits reward).

(** [..., responses]: the number of tokens, the stop included. *)
Definition lengths (n : nat) (h : nat) (logits : state -> vector) : state -> R :=
  sum_along (fun s a => if running (fun _ b => Nat.eqb b 0) s then 1 else 0).

Definition printed : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> vector) (temperature : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> 0 <= reward s a) ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> reward s a <= 1) ->
  0 < temperature ->
  sum_states n h (fun s => sum n (fun a => policy_update n h logits (rewards n h logits reward) temperature s a * policy_update n h logits (rewards n h logits reward) temperature s a)) * sum_states n h (fun s => sum n (fun a => policy_update n h logits (fun y => rewards n h logits reward y / lengths n h logits y) temperature s a * policy_update n h logits (fun y => rewards n h logits reward y / lengths n h logits y) temperature s a)) = sum_states n h (fun s => sum n (fun a => policy_update n h logits (rewards n h logits reward) temperature s a * policy_update n h logits (fun y => rewards n h logits reward y / lengths n h logits y) temperature s a)) * sum_states n h (fun s => sum n (fun a => policy_update n h logits (rewards n h logits reward) temperature s a * policy_update n h logits (fun y => rewards n h logits reward y / lengths n h logits y) temperature s a)).

Definition policy_update_defined (n : nat) (h : nat) (logits : state -> vector) (factor : state -> R) (temperature : R) (s : state) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> vector) (temperature : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> 0 <= reward s a) ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> reward s a <= 1) ->
  0 < temperature ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> policy_update_defined n h logits (rewards n h logits reward) temperature s a) /\
  (forall y, response_of n h y -> lengths n h logits y <> 0) /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> policy_update_defined n h logits (fun y => rewards n h logits reward y / lengths n h logits y) temperature s a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
