(* Generated from the formula of the claim aent.bonus-pulls-to-uniform (AEnt, Section 4.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** d log pi_a under the flow: Sb - S_a, since S_a = Cov_pi(z, delta_a). *)
Definition gains (n : nat) (logits : vector) : vector :=
  fun a => - excess n logits a.

(** pi_a - 1/n, summed over pairs. *)
Definition above_uniform (n : nat) (logits : vector) : vector :=
  centered n (fun b => 0 + 1 / INR n) (softmax n logits).

Definition repair : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  ((forall a, (a < n)%nat -> 0 <= Rmax (centered n (softmax n logits) logits a) (gains n logits a)) /\
  (forall a, (a < n)%nat -> 0 <= Rmax (above_uniform n logits a) (gains n logits a)) /\
  (forall a, (a < n)%nat -> 0 <= (if Nat.eqb (likeliest n logits) a then - gains n logits a else 0))) /\
  (forall a, (a < n)%nat -> derivative (fun t => log_softmax n (fun b => logits b - t * own_covariance n logits b) a) (0) (gains n logits a)) /\
  derivative (fun t => entropy n (fun a => logits a - t * own_covariance n logits a)) (0) (sum n (fun a => own_covariance n logits a * own_covariance n logits a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector),
  (2 <= n)%nat.

Definition above_uniform_defined (n : nat) (logits : vector) (a : nat) : Prop :=
  INR n <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> above_uniform_defined n logits a).
