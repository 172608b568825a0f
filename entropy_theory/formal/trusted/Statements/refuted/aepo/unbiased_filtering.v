(* Generated from the formula of the claim aepo.unbiased-filtering (AEPO, Sections 1 and 4.2 ('filter out negative samples in an unbiased manner')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step_without_temperature (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  forall a, (a < n)%nat -> total_on n correct (softmax n logits) * unit_step n logits correct temperature a = total_on n correct (softmax n (tempered temperature logits)) * unit_step_without_temperature n logits correct a.

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  (forall a, (a < n)%nat -> unit_step_defined n logits correct temperature a) /\
  temperature <> 0.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
