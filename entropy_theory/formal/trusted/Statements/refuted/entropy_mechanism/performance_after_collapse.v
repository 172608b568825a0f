(* Generated from the formula of the claim entropy-mechanism.performance-after-collapse (Review of Entropy Mechanism, 'What would settle it'). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (time : R) (extra : R),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  0 < time ->
  0 < extra ->
  1 / 2 <= entropy n logits ->
  entropy n (fun a => logits a + time * reward a) <= 1 / 20 ->
  mean n (softmax n (fun b => logits b + (time + extra) * reward b)) reward - mean n (softmax n (fun b => logits b + time * reward b)) reward <= 1 / 10.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
