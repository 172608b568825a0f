(* Generated from the formula of the claim aepo.objective-gradient (AEPO, Section 3.1 (objective and its policy gradient)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** [..., states, tokens]: the reward, at the tokens that end a response. *)
Definition ending_reward (n : nat) (h : nat) (logits : state -> vector) (reward : state -> vector) : state -> vector :=
  fun s a => if andb (running (fun _ b => Nat.eqb b 0) s) (orb (Nat.eqb a 0) (Nat.eqb (S (length s)) h)) then reward s a else 0.

(** [..., responses]: the reward of each response. *)
Definition rewards (n : nat) (h : nat) (logits : state -> vector) (reward : state -> vector) : state -> R :=
  sum_along (ending_reward n h logits reward).

(** [..., responses]: the number of tokens, the stop included. *)
Definition lengths (n : nat) (h : nat) (logits : state -> vector) : state -> R :=
  sum_along (fun s a => if running (fun _ b => Nat.eqb b 0) s then 1 else 0).

(** E_{o ~ pi^T} factor(o) sum_{t <= |o|} grad log pi(o_t | o_{<t}), for each state and token. *)
Definition policy_update_without_temperature (n : nat) (h : nat) (logits : state -> vector) (factor : state -> R) : state -> vector :=
  fun s a => if running (fun _ b => Nat.eqb b 0) s then total_through n h (fun y => probability n logits y * factor y) s a - sum n (total_through n h (fun y => probability n logits y * factor y) s) * softmax n (logits s) a else 0.

Definition printed : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> 0 <= reward s a) ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> reward s a <= 1) ->
  forall s, state_of n h s -> forall a, (a < n)%nat -> probability n logits s * softmax n (logits s) a * (action_value n h logits (edge_reward h (fun y => rewards n h logits reward y * lengths n h logits y)) s a - value_at n h logits (edge_reward h (fun y => rewards n h logits reward y * lengths n h logits y)) s) = policy_update_without_temperature n h logits (rewards n h logits reward) s a.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
