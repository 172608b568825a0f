From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Statements.extension Require Import gradient_entropy_l2.
Import ListNotations.
Open Scope R_scope.

(** Two tokens, one a response, both as likely; the first one is right. *)
Definition even_policy : policy := fun _ _ => 0.

Definition first_is_right : state -> R := fun y => match y with [O] => 1 | _ => 0 end.

(** Equality at pi = (1/2, 1/2) and returns (1, 0). *)
Definition attained : Prop :=
  8 * (ln 2 * ln 2) * sum_states 2 1 (fun s => sum 2 (fun a =>
    Rsqr (gradient_of_value 2 1 even_policy first_is_right s a)))
  = response_entropy 2 1 even_policy * response_entropy 2 1 even_policy.
