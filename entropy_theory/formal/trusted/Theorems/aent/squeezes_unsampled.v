From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The vector with 1 at action k picks out the value there. *)
Definition at_action (k : nat) : vector := only (Nat.eqb k) (fun _ => 1).

Definition sampled_step (n : nat) (z : vector) (k : nat) (size : R) : vector :=
  fun a => size * (at_action k a - softmax n z a).

(** log pi'_a - log pi_a after the step. *)
Definition growth (n : nat) (z : vector) (k : nat) (size : R) : vector := fun a =>
  log_softmax n (fun b => z b + sampled_step n z k size b) a - log_softmax n z a.

Definition collision (n : nat) (z : vector) : R := sum n (fun a => softmax n z a * softmax n z a).

(** The rate at size 0. *)
Definition rate_of_other : Prop :=
  forall (n : nat) (z : vector) (k : nat),
  (k < n)%nat -> forall a : nat, (a < n)%nat -> a <> k ->
  derivative (fun c => growth n z k c a) 0 (collision n z - softmax n z k - softmax n z a).
