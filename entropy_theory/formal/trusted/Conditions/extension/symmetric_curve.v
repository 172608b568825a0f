(** What the theorems beside extension.symmetric_curve suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals Bool.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import symmetric_curve.
Open Scope R_scope.

Definition every_alike_run_stays_on_the_curve_witness : Prop :=
  exists (n : nat) (correct : mask) (update : nat -> vector -> vector) (run : nat -> vector),
  nonempty n correct /\
  nonempty n (complement correct) /\
  (forall k z, alike n correct z -> alike n correct (update k z)) /\
  alike n correct (run O) /\
  (forall k a, (a < n)%nat -> run (S k) a = run k a + update k (run k) a).

Definition every_alike_run_stays_on_the_curve_defined : Prop :=
  forall (n : nat) (correct : mask) (update : nat -> vector -> vector) (run : nat -> vector),
  nonempty n correct ->
  nonempty n (complement correct) ->
  (forall k z, alike n correct z -> alike n correct (update k z)) ->
  alike n correct (run O) ->
  (forall k a, (a < n)%nat -> run (S k) a = run k a + update k (run k) a) ->
  forall k,
  let right := total_on n correct (softmax n (run k)) in
  let wrong := total_on n (complement correct) (softmax n (run k)) in
  0 < right /\
  0 < wrong /\
  0 < count_on n correct /\
  0 < count_on n (complement correct).
