From Coq Require Import Reals List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Statements.extension Require Import gradient_entropy_linf.
Import ListNotations.
Open Scope R_scope.

(** Two tokens, one a response, both as likely; the first one is right. *)
Definition even_policy : policy := fun _ _ => 0.

Definition first_is_right : state -> R := fun y => match y with [O] => 1 | _ => 0 end.

(** Equality at pi = (1/2, 1/2) and returns (1, 0). *)
Definition attained : Prop :=
  4 * ln 2 * Rabs (gradient_of_value 2 1 even_policy first_is_right [] 0%nat)
  = response_entropy 2 1 even_policy.
