(* Generated from the formula of the claim extension.finite-step-identities (Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  (entropy_change n logits step + covariance n (softmax n logits) (fun a => exp (log_softmax n (fun b => logits b + step b) a - log_softmax n logits a)) logits + mean n (softmax n (fun b => logits b + step b)) (fun a => log_softmax n (fun b => logits b + step b) a - log_softmax n logits a) = 0 /\
  entropy_change n logits step + sum n (fun a => (softmax n (fun b => logits b + step b) a - softmax n logits a) * log_softmax n (fun b => logits b + step b) a) = mean n (softmax n logits) (fun a => log_softmax n logits a - log_softmax n (fun b => logits b + step b) a)) /\
  (forall t : R, (derivative (fun t2 => entropy n (fun a => logits a + t2 * step a)) (t) (- covariance n (softmax n (fun b => logits b + t * step b)) (log_softmax n (fun b => logits b + t * step b)) step))) /\
  (forall t : R, (derivative (fun t2 => mean n (softmax n (fun b => logits b + t2 * step b)) (fun a => log_softmax n (fun b => logits b + t2 * step b) a - log_softmax n logits a)) (t) (t * covariance n (softmax n (fun b => logits b + t * step b)) step step))) /\
  0 <= mean n (softmax n (fun b => logits b + step b)) (fun a => log_softmax n (fun b => logits b + step b) a - log_softmax n logits a).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat.
