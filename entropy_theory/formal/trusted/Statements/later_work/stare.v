(* Generated from the formula of the claim later-work.stare (STARE (arXiv 2606.19236), the four quadrants and criticality). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** z+ = max(E z, max{z_a : c_a < C}): where c - C changes sign. *)
Definition crossing (n : nat) (logits : vector) : R :=
  largest n (fun a => if less (excess n logits a) 0 then logits a else mean n (softmax n logits) logits).

Definition statement : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= (logits a - crossing n logits) * excess n logits a) /\
  (forall advantage : R, (forall a, (a < n)%nat -> derivative (fun t => entropy n (fun b => logits b + t * advantage * ((if Nat.eqb a b then 1 else 0) - softmax n logits b))) (0) (- advantage * excess n logits a))) /\
  mean n (softmax n logits) (excess n logits) = 0.

Definition witness : Prop :=
  exists (n : nat) (logits : vector),
  (2 <= n)%nat.
