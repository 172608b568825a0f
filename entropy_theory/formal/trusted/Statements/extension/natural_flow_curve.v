(* Generated from the formula of the claim extension.natural-flow-curve (Extension of Entropy Mechanism, Theorem 2 and Section 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** z(s, a) + log E[e^{t R} | s, a]: where the natural flow is at time t. *)
Definition flowed (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R) : state -> vector :=
  fun s a => logits s a + ln (action_value n h logits (edge_reward h (fun y => exp (elapsed * reward y))) s a).

(** h(p) + p H_right + q H_wrong, with p and q = 1 - p the probabilities of being right and wrong. *)
Definition mixed (right : R) (wrong : R) (entropy_right : R) (entropy_wrong : R) : R :=
  - right * ln right - wrong * ln wrong + right * entropy_right + wrong * entropy_wrong.

(** The probability of a response that is kept. *)
Definition mass (n : nat) (h : nat) (logits : state -> vector) (kept : state -> bool) : R :=
  sum_responses n h (fun y => if kept y then probability n logits y else 0 * probability n logits y).

(** The entropy of a response, given that it is among those kept. *)
Definition entropy_within (n : nat) (h : nat) (logits : state -> vector) (kept : state -> bool) : R :=
  - sum_responses n h (fun y => if kept y then probability n logits y / mass n h logits kept * (sum_along (fun s a => log_softmax n (logits s) a) y - ln (mass n h logits kept)) else 0 * (probability n logits y / mass n h logits kept * (sum_along (fun s a => log_softmax n (logits s) a) y - ln (mass n h logits kept)))).

(** h(p_t) + p_t H_right + (1 - p_t) H_wrong, p_t = p e^t/(p e^t + 1 - p), all of the first policy. *)
Definition curve (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R) : R :=
  mixed (mass n h logits correct * exp elapsed / (mass n h logits correct * exp elapsed + mass n h logits (fun y => negb (correct y)))) (mass n h logits (fun y => negb (correct y)) / (mass n h logits correct * exp elapsed + mass n h logits (fun y => negb (correct y)))) (entropy_within n h logits correct) (entropy_within n h logits (fun y => negb (correct y))).

(** A(s, a), for a reward of responses. *)
Definition advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => centered n (softmax n (logits s)) (action_value n h logits (edge_reward h reward) s) a.

(** V(s), for a reward of responses. *)
Definition state_values (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> R :=
  value_at n h logits (edge_reward h reward).

(** (3 + |H_wrong - H_right|) sqrt((1 - p)/p) e^{-t/2}. *)
Definition still_to_go (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R) : R :=
  (3 + Rabs (entropy_within n h logits (fun y => negb (correct y)) - entropy_within n h logits correct)) * sqrt (mass n h logits (fun y => negb (correct y)) / mass n h logits correct) * exp (- elapsed / 2).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) ->
  0 < elapsed ->
  (exists y, response_of n h y /\ (~ (correct y = true))) ->
  response_entropy n h (flowed n h logits (fun y => if correct y then 1 else 0) elapsed) = curve n h logits correct elapsed /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t => flowed n h logits (fun y => if correct y then 1 else 0) t s a) (elapsed) (advantage n h (flowed n h logits (fun y => if correct y then 1 else 0) elapsed) (fun y => if correct y then 1 else 0) s a + state_values n h (flowed n h logits (fun y => if correct y then 1 else 0) elapsed) (fun y => if correct y then 1 else 0) s)) /\
  (forall path : R -> state -> nat -> R, ((forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) (fun y => if correct y then 1 else 0) s a))) -> response_entropy n h (path elapsed) = curve n h (path 0) correct elapsed)) /\
  (forall path : R -> state -> nat -> R, ((forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) (fun y => if correct y then 1 else 0) s a))) -> Rabs (response_entropy n h (path elapsed) - entropy_within n h (path 0) correct) <= still_to_go n h (path 0) correct elapsed)).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (exists y, response_of n h y /\ correct y = true) /\
  0 < elapsed /\
  (exists y, response_of n h y /\ (~ (correct y = true))).

Definition witness_1 : Prop :=
  exists (n h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (exists y, response_of n h y /\ correct y = true) /\
  0 < elapsed /\
  (exists y, response_of n h y /\ (~ (correct y = true))) /\
  (exists path : R -> state -> nat -> R, (forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) (fun y => if correct y then 1 else 0) s a)))).

Definition witness_2 : Prop :=
  exists (n h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (exists y, response_of n h y /\ correct y = true) /\
  0 < elapsed /\
  (exists y, response_of n h y /\ (~ (correct y = true))) /\
  (exists path : R -> state -> nat -> R, (forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) (fun y => if correct y then 1 else 0) s a)))).

Definition flowed_defined (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (elapsed : R) (s : state) (a : nat) : Prop :=
  0 < action_value n h logits (edge_reward h (fun y => exp (elapsed * reward y))) s a.

Definition entropy_within_defined (n : nat) (h : nat) (logits : state -> vector) (kept : state -> bool) : Prop :=
  (forall y, response_of n h y -> (kept y = true) -> mass n h logits kept <> 0) /\
  (forall y, response_of n h y -> (kept y = true) -> 0 < mass n h logits kept).

Definition mixed_defined (right : R) (wrong : R) (entropy_right : R) (entropy_wrong : R) : Prop :=
  0 < right /\
  0 < wrong.

Definition curve_defined (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R) : Prop :=
  mass n h logits correct * exp elapsed + mass n h logits (fun y => negb (correct y)) <> 0 /\
  entropy_within_defined n h logits correct /\
  entropy_within_defined n h logits (fun y => negb (correct y)) /\
  mixed_defined (mass n h logits correct * exp elapsed / (mass n h logits correct * exp elapsed + mass n h logits (fun y => negb (correct y)))) (mass n h logits (fun y => negb (correct y)) / (mass n h logits correct * exp elapsed + mass n h logits (fun y => negb (correct y)))) (entropy_within n h logits correct) (entropy_within n h logits (fun y => negb (correct y))).

Definition still_to_go_defined (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R) : Prop :=
  entropy_within_defined n h logits (fun y => negb (correct y)) /\
  entropy_within_defined n h logits correct /\
  mass n h logits correct <> 0 /\
  0 <= mass n h logits (fun y => negb (correct y)) / mass n h logits correct.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (correct : state -> bool) (elapsed : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) ->
  0 < elapsed ->
  (exists y, response_of n h y /\ (~ (correct y = true))) ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> flowed_defined n h logits (fun y => if correct y then 1 else 0) elapsed s a) /\
  curve_defined n h logits correct elapsed /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> forall t : R, t = elapsed -> flowed_defined n h logits (fun y => if correct y then 1 else 0) t s a) /\
  (forall u, state_of n h u -> forall b, (b < n)%nat -> flowed_defined n h logits (fun y => if correct y then 1 else 0) elapsed u b) /\
  (forall path : R -> state -> nat -> R, (forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) (fun y => if correct y then 1 else 0) s a))) -> curve_defined n h (path 0) correct elapsed) /\
  (forall path : R -> state -> nat -> R, (forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) (fun y => if correct y then 1 else 0) s a))) -> entropy_within_defined n h (path 0) correct) /\
  (forall path : R -> state -> nat -> R, (forall t : R, ((0 <= t) -> forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t2 => path t2 s a) (t) (advantage n h (path t) (fun y => if correct y then 1 else 0) s a))) -> still_to_go_defined n h (path 0) correct elapsed).
