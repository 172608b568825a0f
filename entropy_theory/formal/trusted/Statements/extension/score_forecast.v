(* Generated from the formula of the claim extension.score-forecast (Extension of Entropy Mechanism, Lemma 1, to any update rule (forecast.py)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** (1/4)(1 + log n) ||step||_2^2. *)
Definition remainder_bound (n : nat) (step : vector) : R :=
  (1 + ln (INR n)) * sum n (fun a => step a * step a) / 4.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** The policy given the kept set, zero elsewhere. *)
Definition renormalized (n : nat) (logits : vector) (inside : mask) : vector :=
  fun a => (if inside a then softmax n logits a else 0) / total_on n inside (softmax n logits).

(** S~, minus the gradient of the clamped entropy, zero elsewhere. *)
Definition clamped_tilt (n : nat) (logits : vector) (inside : mask) : vector :=
  fun a => renormalized n logits inside a * centered n (renormalized n logits inside) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (score : vector) (reference : vector) (learning_rate : R) (entropy_ : R) (clamped : R) (reference_kl : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  Rabs (entropy_change n logits (fun a => learning_rate * (score a - sum n score * softmax n logits a + (- entropy_ * own_covariance n logits a - clamped * clamped_tilt n logits correct a) + reference_kl * (softmax n logits a * centered n (softmax n logits) (fun b => logits b - reference b) a))) - learning_rate * (- sum n (fun a => score a * excess n logits a) + entropy_ * sum n (fun a => own_covariance n logits a * own_covariance n logits a) + clamped * sum n (fun a => own_covariance n logits a * clamped_tilt n logits correct a) + - 1 * (reference_kl * sum n (fun a => own_covariance n logits a * (softmax n logits a * centered n (softmax n logits) (fun b => logits b - reference b) a))))) <= remainder_bound n (fun a => learning_rate * (score a - sum n score * softmax n logits a + (- entropy_ * own_covariance n logits a - clamped * clamped_tilt n logits correct a) + reference_kl * (softmax n logits a * centered n (softmax n logits) (fun b => logits b - reference b) a))) /\
  (forall direction : vector, (derivative (fun t => sum n (fun a => score a * log_softmax n (fun b => logits b + t * direction b) a) + entropy_ * entropy n (fun a => logits a + t * direction a) + clamped * - total_on n correct (fun a => (if correct a then softmax n (fun b => logits b + t * direction b) a else 0) / sum n (fun b => if correct b then softmax n (fun c => logits c + t * direction c) b else 0) * ln ((if correct a then softmax n (fun b => logits b + t * direction b) a else 0) / sum n (fun b => if correct b then softmax n (fun c => logits c + t * direction c) b else 0))) + reference_kl * mean n (softmax n (fun b => logits b + t * direction b)) (fun a => log_softmax n (fun b => logits b + t * direction b) a - log_softmax n reference a)) (0) (sum n (fun a => (score a - sum n score * softmax n logits a + (- entropy_ * own_covariance n logits a - clamped * clamped_tilt n logits correct a) + reference_kl * (softmax n logits a * centered n (softmax n logits) (fun b => logits b - reference b) a)) * direction a)))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (score : vector) (reference : vector) (learning_rate : R) (entropy_ : R) (clamped : R) (reference_kl : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < learning_rate.

Definition renormalized_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  total_on n inside (softmax n logits) <> 0.

Definition clamped_tilt_defined (n : nat) (logits : vector) (inside : mask) (a : nat) : Prop :=
  renormalized_defined n logits inside a /\
  (forall b, (b < n)%nat -> renormalized_defined n logits inside b).

Definition remainder_bound_defined (n : nat) (step : vector) : Prop :=
  0 < INR n.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (score : vector) (reference : vector) (learning_rate : R) (entropy_ : R) (clamped : R) (reference_kl : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  (forall a, (a < n)%nat -> clamped_tilt_defined n logits correct a) /\
  remainder_bound_defined n (fun a => learning_rate * (score a - sum n score * softmax n logits a + (- entropy_ * own_covariance n logits a - clamped * clamped_tilt n logits correct a) + reference_kl * (softmax n logits a * centered n (softmax n logits) (fun b => logits b - reference b) a))) /\
  (forall direction : vector, forall t : R, t = 0 -> forall a, (a < n)%nat -> (correct a = true) -> sum n (fun b => if correct b then softmax n (fun c => logits c + t * direction c) b else 0) <> 0) /\
  (forall direction : vector, forall t : R, t = 0 -> forall a, (a < n)%nat -> (correct a = true) -> 0 < (if correct a then softmax n (fun b => logits b + t * direction b) a else 0) / sum n (fun b => if correct b then softmax n (fun c => logits c + t * direction c) b else 0)).
