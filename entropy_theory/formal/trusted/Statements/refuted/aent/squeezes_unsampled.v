(* Generated from the formula of the claim aent.squeezes-unsampled (AEnt, Section 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** log pi'_a - log pi_a after the step c (e_k - pi), for each sampled token k. *)
Definition sampled_growth (n : nat) (logits : vector) (size : R) : nat -> nat -> R :=
  fun a b => log_softmax n (moved_by (fun c => logits c) (fun c => size * ((if Nat.eqb a c then 1 else 0) - softmax n logits c))) b - log_softmax n (fun c => logits c) b.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (size : R),
  (2 <= n)%nat ->
  0 < size ->
  forall a, (a < n)%nat -> forall b, (b < n)%nat -> 0 <= (if Nat.eqb a b then 1 else - sampled_growth n logits size a b).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
