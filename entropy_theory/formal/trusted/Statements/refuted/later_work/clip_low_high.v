(* Generated from the formula of the claim later-work.clip-low-high (Clip-low and clip-high under random rewards (arXiv 2509.26114)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** pi / pi_old, where the logits have drifted since pi_old. *)
Definition ratio (n : nat) (logits : vector) (drift : vector) : vector :=
  fun a => softmax n logits a / softmax n (fun b => logits b - drift b) a.

(** Actions whose ratio is above 1 + epsilon. *)
Definition above (n : nat) (logits : vector) (drift : vector) (epsilon : R) : mask :=
  fun a => less (1 + epsilon) (ratio n logits drift a).

(** Actions whose ratio is below 1 - epsilon. *)
Definition below (n : nat) (logits : vector) (drift : vector) (epsilon : R) : mask :=
  fun a => less (ratio n logits drift a) (1 - epsilon).

(** The first-order change of entropy: -Cov_pi(z, step). *)
Definition first_order (n : nat) (logits : vector) (step : vector) : R :=
  - covariance n (softmax n logits) logits step.

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (drift : vector) (epsilon : R),
  (2 <= n)%nat ->
  0 < epsilon ->
  epsilon < 1 ->
  (exists a, (a < n)%nat /\ ((above n logits drift epsilon a = true) \/ (below n logits drift epsilon a = true))) ->
  0 <= Rmin (if some_on n (below n logits drift epsilon) then first_order n logits (score_step n logits (fun b => (softmax n logits b - (if negb (below n logits drift epsilon b) then softmax n logits b else 0)) / 2)) else 1) (if some_on n (above n logits drift epsilon) then - first_order n logits (score_step n logits (fun b => ((if negb (above n logits drift epsilon b) then softmax n logits b else 0) - softmax n logits b) / 2)) else 1).

Definition ratio_defined (n : nat) (logits : vector) (drift : vector) (a : nat) : Prop :=
  softmax n (fun b => logits b - drift b) a <> 0.

Definition above_defined (n : nat) (logits : vector) (drift : vector) (epsilon : R) (a : nat) : Prop :=
  ratio_defined n logits drift a.

Definition below_defined (n : nat) (logits : vector) (drift : vector) (epsilon : R) (a : nat) : Prop :=
  ratio_defined n logits drift a.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (drift : vector) (epsilon : R),
  (2 <= n)%nat ->
  0 < epsilon ->
  epsilon < 1 ->
  (exists a, (a < n)%nat /\ ((above n logits drift epsilon a = true) \/ (below n logits drift epsilon a = true))) ->
  (forall a, (a < n)%nat -> above_defined n logits drift epsilon a) /\
  (forall a, (a < n)%nat -> ~ (above n logits drift epsilon a = true) -> below_defined n logits drift epsilon a) /\
  (forall a, (a < n)%nat -> below_defined n logits drift epsilon a) /\
  ((exists a, (a < n)%nat /\ (below n logits drift epsilon a = true)) -> forall b, (b < n)%nat -> below_defined n logits drift epsilon b) /\
  ((exists a, (a < n)%nat /\ (above n logits drift epsilon a = true)) -> forall b, (b < n)%nat -> above_defined n logits drift epsilon b).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
