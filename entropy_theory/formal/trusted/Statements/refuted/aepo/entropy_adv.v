(* Generated from the formula of the claim aepo.entropy-adv (AEPO, Section 3.2 (Entropy-Adv: 'acting as a fixed offset to the original advantage')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (advantage : vector) (beta : R) (kappa : R),
  (2 <= n)%nat ->
  0 < beta ->
  0 < kappa ->
  forall a, (a < n)%nat -> softmax n logits a * centered n (softmax n logits) (fun b => Rmin (beta * entropy n logits) (Rmax (advantage b) (- advantage b) / kappa)) a = 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (advantage : vector) (beta : R) (kappa : R),
  (2 <= n)%nat ->
  0 < beta ->
  0 < kappa ->
  kappa <> 0.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
