(* Generated from the formula of the claim entropy-mechanism.lemma-1-state (Entropy Mechanism, Lemma 1, second approximation). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** (1/4)(1 + log n) ||step||_2^2. *)
Definition remainder_bound (n : nat) (step : vector) : R :=
  (1 + ln (INR n)) * sum n (fun a => step a * step a) / 4.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  Rabs (entropy_change n logits step - - covariance n (softmax n logits) (log_softmax n logits) step) <= remainder_bound n step /\
  derivative (fun t => entropy n (fun a => logits a + t * step a)) (0) (- covariance n (softmax n logits) (log_softmax n logits) step).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat.

Definition remainder_bound_defined (n : nat) (step : vector) : Prop :=
  0 < INR n.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  remainder_bound_defined n step.
