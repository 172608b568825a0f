(* Generated from the formula of the claim extension.sign-step (Extension of Entropy Mechanism, Lemma 1 (Adam)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** 1 at right actions, 0 at others. *)
Definition rewards (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then 1 else 0.

(** The sign of the exact gradient, pi (1_{A*} - p). *)
Definition sign_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => sign_of (reweighted_step n logits (rewards n logits correct) a).

(** 1_{A*} - p. *)
Definition natural_step (n : nat) (logits : vector) (correct : mask) : vector :=
  centered n (softmax n logits) (rewards n logits correct).

(** Cov_pi(log pi, 1_{A*}): the fall of entropy by the natural step, to first order. *)
Definition natural_fall (n : nat) (logits : vector) (correct : mask) : R :=
  covariance n (softmax n logits) logits (rewards n logits correct).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall a, (a < n)%nat -> log_softmax n (moved_by logits (fun b => learning_rate * sign_step n logits correct b)) a - log_softmax n logits a = log_softmax n (moved_by logits (fun b => 2 * learning_rate * natural_step n logits correct b)) a - log_softmax n logits a) /\
  derivative (fun t => entropy n (fun a => logits a + t * sign_step n logits correct a)) (0) (- 2 * natural_fall n logits correct).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (learning_rate : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < learning_rate /\
  (~ (forall a, (a < n)%nat -> correct a = true)).
