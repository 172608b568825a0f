(* Generated from the formula of the claim aepo.untempered-variance (AEPO, Section 6.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step_without_temperature (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

(** V(T): total variance of one sample's gradient. *)
Definition variance_without_temperature (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => softmax n logits a * (1 - 2 * softmax n logits a + sum n (fun b => softmax n logits b * softmax n logits b))) - sum n (fun a => unit_step_without_temperature n logits correct a * unit_step_without_temperature n logits correct a).

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** V(T): total variance of one sample's gradient. *)
Definition variance (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  total_on n correct (fun a => softmax n (tempered temperature logits) a * (1 - 2 * softmax n logits a + sum n (fun b => softmax n logits b * softmax n logits b))) - sum n (fun a => unit_step n logits correct temperature a * unit_step n logits correct temperature a).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  variance n logits correct temperature <= variance_without_temperature n logits correct.

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition variance_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0 /\
  (forall a, (a < n)%nat -> unit_step_defined n logits correct temperature a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  variance_defined n logits correct temperature.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
