(* Generated from the formula of the claim extension.weighted-remainder (Extension of Entropy Mechanism, Lemma 1, and AEPO, Theorem 4.3). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  Rabs (entropy_change n logits step - - covariance n (softmax n logits) (log_softmax n logits) step) <= exp (largest n (centered n (softmax n logits) step)) * (covariance n (softmax n logits) step step + mean n (softmax n logits) (fun a => Rabs (log_softmax n logits a + entropy n logits) * (centered n (softmax n logits) step a * centered n (softmax n logits) step a)) + covariance n (softmax n logits) step step * Rabs (- covariance n (softmax n logits) (log_softmax n logits) step)) / 2 /\
  ((INR n <= 2) -> forall C : R, ((forall z : vector, (forall d : vector, (Rabs (entropy_change n z d - - covariance n (softmax n z) (log_softmax n z) d) <= C * (exp (largest n (centered n (softmax n z) d)) * (covariance n (softmax n z) d d + mean n (softmax n z) (fun a => Rabs (log_softmax n z a + entropy n z) * (centered n (softmax n z) d a * centered n (softmax n z) d a)) + covariance n (softmax n z) d d * Rabs (- covariance n (softmax n z) (log_softmax n z) d)))))) -> 1 / 2 <= C)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat /\
  (INR n <= 2) /\ (exists C : R, (forall z : vector, (forall d : vector, (Rabs (entropy_change n z d - - covariance n (softmax n z) (log_softmax n z) d) <= C * (exp (largest n (centered n (softmax n z) d)) * (covariance n (softmax n z) d d + mean n (softmax n z) (fun a => Rabs (log_softmax n z a + entropy n z) * (centered n (softmax n z) d a * centered n (softmax n z) d a)) + covariance n (softmax n z) d d * Rabs (- covariance n (softmax n z) (log_softmax n z) d))))))).
