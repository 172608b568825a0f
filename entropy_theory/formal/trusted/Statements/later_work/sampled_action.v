(* Generated from the formula of the claim later-work.sampled-action (Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.3, corollary). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** First-order change of entropy by the step e_k - pi, for each sampled action k. *)
Definition effect_of_sample (n : nat) (logits : vector) : vector :=
  fun a => - covariance n (fun b => softmax n logits b) (fun b => logits b) (fun b => (if Nat.eqb a b then 1 else 0) - softmax n logits b).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  ((forall a, (a < n)%nat -> effect_of_sample n logits a = - 1 * excess n logits a) /\
  mean n (softmax n logits) (fun a => - 1 * excess n logits a) = 0 /\
  mean n (softmax n logits) (fun a => centered n (softmax n logits) step a * (- 1 * excess n logits a)) + covariance n (softmax n logits) logits (fun a => softmax n logits a * centered n (softmax n logits) step a) = 0) /\
  (forall strength : R, (forall a, (a < n)%nat -> derivative (fun t => entropy n (fun b => logits b + t * strength * ((if Nat.eqb a b then 1 else 0) - softmax n logits b))) (0) (- strength * excess n logits a))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat.
