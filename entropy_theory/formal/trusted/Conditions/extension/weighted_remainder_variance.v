(** What the theorems beside extension.weighted_remainder_variance suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import weighted_remainder_variance.
Open Scope R_scope.

Definition from_below_witness : Prop :=
  exists (n : nat),
  (1 <= n)%nat.

Definition from_below_defined : Prop :=
  forall (n : nat),
  (1 <= n)%nat ->
  0 < INR n.

Definition from_below_on_the_way_witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector) (K : R),
  (1 <= n)%nat /\
  (forall t, 0 <= t <= 1 -> variance n (softmax n (fun a => logits a + t * step a)) step <= K).

Definition from_below_on_the_way_defined : Prop :=
  forall (n : nat) (logits : vector) (step : vector) (K : R),
  (1 <= n)%nat ->
  (forall t, 0 <= t <= 1 -> variance n (softmax n (fun a => logits a + t * step a)) step <= K) ->
  0 < INR n.
