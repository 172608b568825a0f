(* Generated from the formula of the claim extension.isotropic-noise (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Cov_pi(pi, log pi) - (1 - sum pi^2)/2. *)
Definition isotropic_effect (n : nat) (logits : vector) : R :=
  covariance n (softmax n logits) logits (softmax n logits) - sum n (fun a => softmax n logits a * (1 - softmax n logits a)) / 2.

Definition statement : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  0 <= (if andb (negb (less (largest n (softmax n logits)) (1 / 2))) (negb (less ((largest n (softmax n logits) - total_on n (fun a => negb (Nat.eqb (likeliest n logits) a)) (softmax n logits)) * ln (largest n (softmax n logits) / total_on n (fun a => negb (Nat.eqb (likeliest n logits) a)) (softmax n logits))) 1)) then isotropic_effect n logits else 1) /\
  0 <= (if negb (less (1 + exp (smallest n logits - largest n logits)) ((largest n logits - smallest n logits) * (1 - exp (smallest n logits - largest n logits)))) then - isotropic_effect n logits else 1).

Definition witness : Prop :=
  exists (n : nat) (logits : vector),
  (2 <= n)%nat.

Definition defined : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  ((~ (largest n (softmax n logits) < 1 / 2)) -> total_on n (fun a => negb (Nat.eqb (likeliest n logits) a)) (softmax n logits) <> 0) /\
  ((~ (largest n (softmax n logits) < 1 / 2)) -> 0 < largest n (softmax n logits) / total_on n (fun a => negb (Nat.eqb (likeliest n logits) a)) (softmax n logits)).
