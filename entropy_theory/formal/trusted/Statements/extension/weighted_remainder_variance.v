(* Generated from the formula of the claim extension.weighted-remainder-variance (Extension of Entropy Mechanism, Lemma 1, and AEPO, Theorem 4.3). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  0 < covariance n (softmax n logits) step step ->
  Rabs (entropy_change n logits step - - covariance n (softmax n logits) (log_softmax n logits) step) <= exp (largest n (centered n (softmax n logits) step)) * (covariance n (softmax n logits) step step * (1 + ln (INR n) + ln ((largest n step - smallest n step) * (largest n step - smallest n step) / covariance n (softmax n logits) step step))) / 2.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat /\
  0 < covariance n (softmax n logits) step step.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  0 < covariance n (softmax n logits) step step ->
  0 < INR n /\
  covariance n (softmax n logits) step step <> 0 /\
  0 < (largest n step - smallest n step) * (largest n step - smallest n step) / covariance n (softmax n logits) step step.
