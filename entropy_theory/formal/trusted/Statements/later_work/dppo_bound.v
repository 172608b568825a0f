(* Generated from the formula of the claim later-work.dppo-bound (DPPO (arXiv 2602.04879), Theorem 3.2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** D, the largest over states of TV(mu, pi), mu of the logits and pi after the step. *)
Definition largest_variation (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) : R :=
  largest_states n h (fun s => sum n (fun a => Rabs (softmax n (fun b => logits s b + step s b) a - softmax n (logits s) a)) / 2).

(** T (T - 1) D^2. *)
Definition penalty (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) : R :=
  INR h * (INR h - 1) * largest_variation n h logits step * largest_variation n h logits step.

(** L' = E_mu[R sum_t (pi/mu - 1)]. *)
Definition surrogate (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) (reward : state -> R) : R :=
  mean_responses n h logits (fun y => reward y * sum_along (fun s a => softmax n (fun b => logits s b + step s b) a / softmax n (logits s) a - 1) y).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (step : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 <= 2 * largest_responses n h (fun y => Rabs (reward y)) * penalty n h logits step + (mean_responses n h (fun s a => logits s a + step s a) reward - mean_responses n h logits reward - surrogate n h logits step reward) /\
  Rabs (mean_responses n h (fun s a => logits s a + step s a) reward - mean_responses n h logits reward - surrogate n h logits step reward) <= (largest_responses n h reward - - largest_responses n h (fun y => - reward y)) * penalty n h logits step.

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R) (step : state -> vector),
  (2 <= n)%nat /\
  (1 <= h)%nat.

Definition surrogate_defined (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) (reward : state -> R) : Prop :=
  (forall s, state_of n h s -> forall a, (a < n)%nat -> softmax n (logits s) a <> 0).

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (step : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  surrogate_defined n h logits step reward.
