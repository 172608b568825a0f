(* Generated from the formula of the claim extension.remainder-constant (Extension of AEPO, Theorem 4.3, and Cui et al., Lemma 1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  (Rabs (entropy_change n logits step - - covariance n (softmax n logits) logits step) <= (25 + 8 * ln (INR n)) / 40 * sum n (fun a => step a * step a) / 2 /\
  Rabs (- mean n (softmax n logits) (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) - covariance n (softmax n logits) logits (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a)) <= (25 + 8 * ln (INR n)) / 40 * sum n (fun a => step a * step a)) /\
  ((4 <= INR n) -> forall K : R, ((forall z : vector, (forall d : vector, (Rabs (entropy_change n z d - - covariance n (softmax n z) z d) <= K * sum n (fun a => d a * d a) / 2))) -> 1 / 4 + ln ((INR n - 2) / 2) / 8 <= K)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat /\
  (4 <= INR n) /\ (exists K : R, (forall z : vector, (forall d : vector, (Rabs (entropy_change n z d - - covariance n (softmax n z) z d) <= K * sum n (fun a => d a * d a) / 2)))).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  0 < INR n /\
  ((4 <= INR n) -> forall K : R, (forall z : vector, (forall d : vector, (Rabs (entropy_change n z d - - covariance n (softmax n z) z d) <= K * sum n (fun a => d a * d a) / 2))) -> 0 < (INR n - 2) / 2).
