(* Generated from the formula of the claim aent.squeezes-unsampled (AEnt, Section 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** d log pi_a/dc for each sampled k: sum pi^2 - pi_k - pi_a. *)
Definition growth_rate (n : nat) (logits : vector) : nat -> nat -> R :=
  fun a b => sum n (fun c => softmax n logits c * softmax n logits c) - softmax n logits a - softmax n logits b.

(** log pi'_a - log pi_a after the step c (e_k - pi), for each sampled token k. *)
Definition sampled_growth (n : nat) (logits : vector) (size : R) : nat -> nat -> R :=
  fun a b => log_softmax n (moved_by (fun c => logits c) (fun c => size * ((if Nat.eqb a c then 1 else 0) - softmax n logits c))) b - log_softmax n (fun c => logits c) b.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (size : R),
  (2 <= n)%nat ->
  0 < size ->
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> 0 <= (if Nat.eqb a b then 1 else Rmax (growth_rate n logits a b) (- sampled_growth n logits size a b))) /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> 0 <= (if andb (Nat.eqb (likeliest n logits) a) (negb (Nat.eqb a b)) then - sampled_growth n logits size a b else 1)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (size : R),
  (2 <= n)%nat /\
  0 < size.
