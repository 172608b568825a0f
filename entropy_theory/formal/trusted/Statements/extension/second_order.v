(* Generated from the formula of the claim extension.second-order (Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  Rabs (entropy_change n logits step - - covariance n (softmax n logits) logits step - (- mean n (softmax n logits) (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) - covariance n (softmax n logits) logits (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a)) / 2) <= (largest n step - smallest n step) * (largest n step - smallest n step) * (largest n step - smallest n step) * (2 + 7 * ln (INR n)) / 24 /\
  derivative (fun t => entropy n (fun a => logits a + t * step a)) (0) (- covariance n (softmax n logits) logits step) /\
  derivative (fun t => - covariance n (softmax n (fun b => logits b + t * step b)) (fun a => logits a + t * step a) step) (0) (- mean n (softmax n logits) (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) - covariance n (softmax n logits) logits (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  0 < INR n.
