From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Statements.aent Require Import epsilon_squared.
Import ListNotations.
Open Scope R_scope.

(** A number that is allowed as the constant of Proposition 2. *)
Definition allowed (n h : nat) (logits : policy) (reward : state -> R) (lambda constant : R) : Prop :=
  0 < constant /\
  forall s, state_of n h s ->
    constant * probability n (soft_policy n h lambda (edge_reward h reward)) s
    <= Rsqr (probability n logits s * smallest n (softmax n (logits s))).

(** Two tokens, one a response, both as likely; the first one is right. *)
Definition even_policy : policy := fun _ _ => 0.

Definition first_is_right : state -> R := fun y => match y with [O] => 1 | _ => 0 end.

Definition fails : Prop :=
  forall constant,
  allowed 2 1 even_policy first_is_right 1 constant ->
  sqrt (INR 1) * (1 / 2) / probability 2 even_policy [0%nat]
  < 1 / 2 * (1 / 2) / (2 * 1 * constant) + 1 * (INR 1 * ln (INR 2)).
