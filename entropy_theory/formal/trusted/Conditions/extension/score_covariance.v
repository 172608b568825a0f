(** What the theorems beside extension.score_covariance suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import score_covariance.
Open Scope R_scope.

Definition any_parametrization_witness : Prop :=
  exists (d : nat) (n : nat) (z : vector -> vector) (score : nat -> vector) (theta : R -> vector) (time : R) (velocity : vector),
  (1 <= n)%nat /\
  (forall a, (a < n)%nat -> has_gradient d (fun x => log_softmax n (z x) a) (theta time) (score a)) /\
  (forall i, (i < d)%nat -> derivative (fun t => theta t i) time (velocity i)).
