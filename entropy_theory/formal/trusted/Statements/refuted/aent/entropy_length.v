(* Generated from the formula of the claim aent.entropy-length (AEnt, Section 5.3 ('a positive correlation between entropy and response length')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** [..., responses]: the number of tokens, the stop included. *)
Definition lengths (n : nat) (h : nat) (logits : state -> vector) : state -> R :=
  sum_along (fun s a => if running (fun _ b => Nat.eqb b 0) s then 1 else 0).

Definition printed : Prop :=
  forall (n h : nat) (logits : state -> vector) (temperature : R),
  n = 2%nat ->
  (1 <= h)%nat ->
  0 < temperature ->
  1 < temperature ->
  mean_responses n h logits (lengths n h logits) <= mean_responses n h (fun s a => logits s a / temperature) (lengths n h logits).

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (temperature : R),
  n = 2%nat ->
  (1 <= h)%nat ->
  0 < temperature ->
  1 < temperature ->
  temperature <> 0.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
