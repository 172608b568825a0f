(* Generated from the formula of the claim extension.momentum (ours: heavy-ball momentum, all advantages zero). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The least of (z_a - z_b)(w_a - w_b) over pairs: at least 0 where w does not fall as pi grows. *)
Definition least_agreement (n : nat) (logits : vector) (values : vector) : R :=
  smallest n (fun a => smallest n (fun b => (values a - values b) * (logits a - logits b))).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (velocity : vector) (learning_rate : R) (momentum : R),
  (2 <= n)%nat ->
  0 <= learning_rate ->
  0 <= momentum ->
  momentum < 1 ->
  0 <= least_agreement n logits velocity ->
  entropy n (fst (run (fun j (parts : vector * vector) => let (z, z2) := parts in ((fun b => z b + learning_rate * (momentum * z2 b)), (fun b => momentum * z2 b))) (logits, velocity) 2)) <= entropy n logits /\
  (forall k : nat, entropy n (fst (run (fun j (parts : vector * vector) => let (z, z2) := parts in ((fun b => z b + learning_rate * (momentum * z2 b)), (fun b => momentum * z2 b))) (logits, velocity) (S k))) <= entropy n (fst (run (fun j (parts : vector * vector) => let (z, z2) := parts in ((fun b => z b + learning_rate * (momentum * z2 b)), (fun b => momentum * z2 b))) (logits, velocity) k))) /\
  tends_to (fun k => entropy n (fst (run (fun j (parts : vector * vector) => let (z, z2) := parts in ((fun b => z b + learning_rate * (momentum * z2 b)), (fun b => momentum * z2 b))) (logits, velocity) k))) (entropy n (fun a => logits a + learning_rate * momentum / (1 - momentum) * velocity a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (velocity : vector) (learning_rate : R) (momentum : R),
  (2 <= n)%nat /\
  0 <= learning_rate /\
  0 <= momentum /\
  momentum < 1 /\
  0 <= least_agreement n logits velocity.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (velocity : vector) (learning_rate : R) (momentum : R),
  (2 <= n)%nat ->
  0 <= learning_rate ->
  0 <= momentum ->
  momentum < 1 ->
  0 <= least_agreement n logits velocity ->
  1 - momentum <> 0.
