(* Generated from the formula of the claim extension.noise-any-shape (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  covariance n (softmax n logits) step step * (mean n (softmax n logits) logits - largest_on n (fun a => negb (Nat.eqb (likeliest n logits) a)) logits - (1 - largest n (softmax n logits)) * (largest n logits - largest_on n (fun a => negb (Nat.eqb (likeliest n logits) a)) logits) - 1) <= - mean n (softmax n logits) (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) - covariance n (softmax n logits) logits (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) /\
  - mean n (softmax n logits) (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) - covariance n (softmax n logits) logits (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) <= covariance n (softmax n logits) step step * (mean n (softmax n logits) logits - smallest n logits - 1).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat.
