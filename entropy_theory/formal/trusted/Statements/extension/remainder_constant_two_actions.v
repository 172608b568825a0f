(* Generated from the formula of the claim extension.remainder-constant-two-actions (Extension of AEPO, Theorem 4.3, and Cui et al., Lemma 1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  n = 2%nat ->
  (Rabs (entropy_change n logits step - - covariance n (softmax n logits) logits step) <= 1 / 2 * sum n (fun a => step a * step a) / 2 /\
  Rabs (- mean n (softmax n logits) (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) - covariance n (softmax n logits) logits (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a)) <= 1 / 2 * sum n (fun a => step a * step a)) /\
  (forall K : R, ((forall z : vector, (forall d : vector, (Rabs (entropy_change n z d - - covariance n (softmax n z) z d) <= K * sum n (fun a => d a * d a) / 2))) -> 1 / 2 <= K)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  n = 2%nat.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  n = 2%nat /\
  (exists K : R, (forall z : vector, (forall d : vector, (Rabs (entropy_change n z d - - covariance n (softmax n z) z d) <= K * sum n (fun a => d a * d a) / 2)))).
