(* Generated from the formula of the claim aepo.assumption-b4 (AEPO, Appendix B, Assumption B.4). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (shared : vector) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 <= sum n (fun a => entropy_gradient n logits a * unit_step n logits correct temperature a) * (sum n (fun a => entropy_gradient n logits a * unit_step n logits correct temperature a) + sum n (fun a => entropy_gradient n logits a * shared a) * sum n (fun a => shared a * unit_step n logits correct temperature a)).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (shared : vector) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  (forall a, (a < n)%nat -> unit_step_defined n logits correct temperature a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
