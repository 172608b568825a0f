(* Generated from the formula of the claim aent.lemma-2 (AEnt, Lemma 2 (A.8)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (baseline : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  forall s, state_of n h s -> forall a, (a < n)%nat -> total_through n h (probability n logits) s a * baseline s 0%nat = sum n (fun b => total_through n h (probability n logits) s b * baseline s 0%nat) * softmax n (logits s) a.

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (baseline : state -> vector),
  (2 <= n)%nat /\
  (1 <= h)%nat.
