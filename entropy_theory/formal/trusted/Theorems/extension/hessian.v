From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Logits on the line from z in direction d. *)
Definition line (z d : vector) (t : R) : vector := fun a => z a + t * d a.

(** delta_k *)
Definition unit_vector (k : nat) : vector := fun a => if Nat.eqb a k then 1 else 0.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (z : vector) : vector :=
  fun a => softmax n z a * centered n (softmax n z) z a.

Definition hessian_matrix (n : nat) (logits : vector) (a b : nat) : R :=
  let p := softmax n logits in
  let s := own_covariance n logits in
  - ((if Nat.eqb a b then s a + p a else 0) - (s a * p b + p a * s b) - p a * p b).

(** The entries are the second partial derivatives, and -S the first. *)
Definition second_derivatives : Prop :=
  forall (n : nat) (logits : vector) (a b : nat),
  (a < n)%nat -> (b < n)%nat ->
  derivative (fun t => entropy n (line logits (unit_vector a) t)) 0 (- own_covariance n logits a)
  /\ derivative (fun t => - own_covariance n (line logits (unit_vector b) t) a) 0 (hessian_matrix n logits a b).
