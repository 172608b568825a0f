(* Generated from the formula of the claim entropy-mechanism.lemma-3 (Entropy Mechanism, Lemma 3 (Appendix B)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The sum of pi(y) R(y) over the responses that take this token there. *)
Definition reward_through (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  total_through n h (fun y => probability n logits y * reward y).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  forall s, state_of n h s -> sum n (fun a => softmax n (logits s) a * (reward_through n h logits reward s a / (probability n logits s * softmax n (logits s) a) - sum n (reward_through n h logits reward s) / probability n logits s)) = 0.

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat /\
  (1 <= h)%nat.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> probability n logits s * softmax n (logits s) a <> 0) /\
  (forall s, state_of n h s -> probability n logits s <> 0).
