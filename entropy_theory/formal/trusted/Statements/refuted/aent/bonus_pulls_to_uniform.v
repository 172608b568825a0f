(* Generated from the formula of the claim aent.bonus-pulls-to-uniform (AEnt, Section 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** pi_a - 1/n, summed over pairs. *)
Definition above_uniform (n : nat) (logits : vector) : vector :=
  centered n (fun b => 0 + 1 / INR n) (softmax n logits).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** d log pi_a under the flow: Sb - S_a, since S_a = Cov_pi(z, delta_a). *)
Definition gains (n : nat) (logits : vector) : vector :=
  fun a => - excess n logits a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  forall a, (a < n)%nat -> 0 <= - above_uniform n logits a * gains n logits a.

Definition above_uniform_defined (n : nat) (logits : vector) (a : nat) : Prop :=
  INR n <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> above_uniform_defined n logits a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
