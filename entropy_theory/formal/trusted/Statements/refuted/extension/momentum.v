(* Generated from the formula of the claim extension.momentum (ours: heavy-ball momentum, all advantages zero). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (velocity : vector) (learning_rate : R) (momentum : R),
  (2 <= n)%nat ->
  0 <= learning_rate ->
  0 <= momentum ->
  momentum < 1 ->
  entropy n logits <= entropy n (fun a => logits a - learning_rate * velocity a) ->
  entropy n (fst (run (fun j (parts : vector * vector) => let (z, z2) := parts in ((fun b => z b + learning_rate * (momentum * z2 b)), (fun b => momentum * z2 b))) (logits, velocity) 2)) <= entropy n logits.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
