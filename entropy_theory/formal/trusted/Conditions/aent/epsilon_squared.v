(** What the theorems beside aent.epsilon_squared suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Statements.aent Require Import epsilon_squared.
Import ListNotations.
From Trusted.Theorems.aent Require Import epsilon_squared.
Open Scope R_scope.

Definition fails_witness : Prop :=
  exists constant,
  allowed 2 1 even_policy first_is_right 1 constant.

Definition allowed_defined (n : nat) (h : nat) (logits : policy) (reward : state -> R) (lambda : R) (constant : R) : Prop :=
  forall s,
  state_of n h s ->
  lambda <> 0.

Definition fails_defined : Prop :=
  forall constant,
  allowed_defined 2 1 even_policy first_is_right 1 constant /\
  (allowed 2 1 even_policy first_is_right 1 constant ->
  0 <= INR 1 /\
  probability 2 even_policy [0%nat] <> 0 /\
  2 * 1 * constant <> 0 /\
  0 < INR 2).
