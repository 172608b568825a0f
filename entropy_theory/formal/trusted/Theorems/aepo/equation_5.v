From Coq Require Import Reals Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** delta_k *)
Definition unit_vector (k : nat) : vector := fun a => if Nat.eqb a k then 1 else 0.

(** The expected logit step per unit learning rate: 1_{A*} pi^T - P_T pi, where P_T is
    the tempered probability of the correct actions (Eqs. 4, 5). *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a =>
    only correct (softmax n (tempered temperature logits)) a
    - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** In particular along one logit. *)
Definition expected_score : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (k : nat),
  (1 <= n)%nat -> (k < n)%nat -> 0 < temperature ->
  derivative
    (fun t => total_on n correct (fun a =>
       softmax n (tempered temperature logits) a
       * log_softmax n (fun b => logits b + t * unit_vector k b) a))
    0 (unit_step n logits correct temperature k).
