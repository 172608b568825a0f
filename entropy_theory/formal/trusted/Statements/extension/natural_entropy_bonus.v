(* Generated from the formula of the claim extension.natural-entropy-bonus (Extension: entropy bonus under the natural gradient). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The step -c log pi. *)
Definition natural_bonus_step (n : nat) (logits : vector) (strength : R) : vector :=
  fun a => - strength * log_softmax n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (strength : R),
  (2 <= n)%nat ->
  0 < strength ->
  strength <= 1 ->
  0 <= entropy_change n logits (natural_bonus_step n logits strength) /\
  derivative (fun t => entropy n (fun a => logits a + natural_bonus_step n logits t a)) (0) (covariance n (softmax n logits) (log_softmax n logits) (log_softmax n logits)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (strength : R),
  (2 <= n)%nat /\
  0 < strength /\
  strength <= 1.
