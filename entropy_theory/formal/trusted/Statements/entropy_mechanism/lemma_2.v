(* Generated from the formula of the claim entropy-mechanism.lemma-2 (Entropy Mechanism, Lemma 2 (Appendix B)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** log pi_a(z + h e_k) - log pi_a(z) - h times the slope, for each k and a. *)
Definition remainder (n : nat) (logits : vector) (change : R) (slope : nat -> nat -> R) : nat -> nat -> R :=
  fun a b => log_softmax n (moved_by (fun c => logits c) (fun c => change * (if Nat.eqb a c then 1 else 0))) b - log_softmax n (fun c => logits c) b - change * slope a b.

(** 1[a = k] - pi_k, for the logit k that moves and the action a. *)
Definition jacobian (n : nat) (logits : vector) : nat -> nat -> R :=
  fun a b => (if Nat.eqb a b then 1 else 0) - softmax n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (size : R),
  (2 <= n)%nat ->
  0 < size ->
  ((forall a, (a < n)%nat -> forall b, (b < n)%nat -> 0 <= - remainder n logits size (jacobian n logits) a b) /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> 0 <= remainder n logits size (jacobian n logits) a b + size * size / 8) /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> 0 <= - remainder n logits (- size) (jacobian n logits) a b) /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> 0 <= remainder n logits (- size) (jacobian n logits) a b + - size * - size / 8)) /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> derivative (fun t => log_softmax n (fun c => logits c + t * (if Nat.eqb a c then 1 else 0)) b) (0) (jacobian n logits a b)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (size : R),
  (2 <= n)%nat /\
  0 < size.
