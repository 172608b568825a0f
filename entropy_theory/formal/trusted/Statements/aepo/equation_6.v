(* Generated from the formula of the claim aepo.equation-6 (AEPO, Eq. 6 (Appendix B)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat ->
  (- sum n (fun a => step a * softmax n logits a * (log_softmax n logits a - mean n (softmax n logits) (log_softmax n logits))) = - covariance n (softmax n logits) step (log_softmax n logits) /\
  - covariance n (softmax n logits) step (log_softmax n logits) = - covariance n (softmax n logits) step logits) /\
  derivative (fun t => entropy n (fun a => logits a + t * step a)) (0) (- covariance n (softmax n logits) step logits).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector),
  (2 <= n)%nat.
