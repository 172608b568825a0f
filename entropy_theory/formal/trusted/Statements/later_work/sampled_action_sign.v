(* Generated from the formula of the claim later-work.sampled-action-sign (Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** log pi_k + H, positive where pi_k > e^{-H}. *)
Definition depth (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) logits.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (size : R),
  (2 <= n)%nat ->
  0 < size ->
  (forall a, (a < n)%nat -> 0 < - entropy_change n (fun b => logits b) (fun b => (if less (depth n logits a) 0 then - (size + 0) else size + 0) * (if Nat.eqb a b then 1 else 0))) /\
  (forall a, (a < n)%nat -> derivative (fun t => entropy n (fun b => logits b + t * (if Nat.eqb a b then 1 else 0))) (0) (- softmax n logits a * depth n logits a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (size : R),
  (2 <= n)%nat /\
  0 < size.
