(* Generated from the formula of the claim extension.score-covariance (Extension of Entropy Mechanism, Lemma 1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** -sum pi rate log pi - sum pi rate: the derivative of -sum pi log pi where log pi moves at a *)
Definition product_rule (n : nat) (logits : vector) (rate : vector) : R :=
  - sum n (fun a => softmax n logits a * rate a * log_softmax n logits a) - sum n (fun a => softmax n logits a * rate a).

(** <grad log pi_a, dtheta> where the two shared parameters move by (1, pace). *)
Definition score (n : nat) (logits : vector) (first_feature : vector) (second_feature : vector) (pace : R) : vector :=
  fun a => centered n (softmax n logits) first_feature a + pace * centered n (softmax n logits) second_feature a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (first_feature : vector) (second_feature : vector) (pace : R),
  (2 <= n)%nat ->
  0 < pace ->
  product_rule n logits (score n logits first_feature second_feature pace) + covariance n (softmax n logits) (log_softmax n logits) (score n logits first_feature second_feature pace) = 0 /\
  (forall path : R -> nat -> R, (forall velocity : vector, ((forall a, (a < n)%nat -> derivative (fun t => path t a) (0) (velocity a)) -> forall a, (a < n)%nat -> derivative (fun t => log_softmax n (path t) a) (0) (centered n (softmax n (path 0)) velocity a)))) /\
  (forall path : R -> nat -> R, (forall velocity : vector, ((forall a, (a < n)%nat -> derivative (fun t => path t a) (0) (velocity a)) -> derivative (fun t => entropy n (path t)) (0) (- covariance n (softmax n (path 0)) (log_softmax n (path 0)) (centered n (softmax n (path 0)) velocity))))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (first_feature : vector) (second_feature : vector) (pace : R),
  (2 <= n)%nat /\
  0 < pace.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (first_feature : vector) (second_feature : vector) (pace : R),
  (2 <= n)%nat /\
  0 < pace /\
  (exists path : R -> nat -> R, (exists velocity : vector, (forall a, (a < n)%nat -> derivative (fun t => path t a) (0) (velocity a)))).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (first_feature : vector) (second_feature : vector) (pace : R),
  (2 <= n)%nat /\
  0 < pace /\
  (exists path : R -> nat -> R, (exists velocity : vector, (forall a, (a < n)%nat -> derivative (fun t => path t a) (0) (velocity a)))).
