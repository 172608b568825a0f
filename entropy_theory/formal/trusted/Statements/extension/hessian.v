(* Generated from the formula of the claim extension.hessian (Extension of AEPO, Eq. 6). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (step : vector) (other : vector),
  (2 <= n)%nat ->
  (sum n (fun a => step a * - ((own_covariance n logits a + softmax n logits a) * step a - own_covariance n logits a * mean n (softmax n logits) step - softmax n logits a * sum n (fun b => own_covariance n logits b * step b) - softmax n logits a * mean n (softmax n logits) step)) - (- mean n (softmax n logits) (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a) - covariance n (softmax n logits) logits (fun a => centered n (softmax n logits) step a * centered n (softmax n logits) step a)) = 0 /\
  (forall a, (a < n)%nat -> - (own_covariance n logits a + softmax n logits a - own_covariance n logits a * mean n (softmax n logits) (fun b => 1) - softmax n logits a * sum n (own_covariance n logits) - softmax n logits a * mean n (softmax n logits) (fun b => 1)) = 0) /\
  sum n (fun a => other a * - ((own_covariance n logits a + softmax n logits a) * step a - own_covariance n logits a * mean n (softmax n logits) step - softmax n logits a * sum n (fun b => own_covariance n logits b * step b) - softmax n logits a * mean n (softmax n logits) step)) - sum n (fun a => step a * - ((own_covariance n logits a + softmax n logits a) * other a - own_covariance n logits a * mean n (softmax n logits) other - softmax n logits a * sum n (fun b => own_covariance n logits b * other b) - softmax n logits a * mean n (softmax n logits) other)) = 0) /\
  derivative (fun t => entropy n (fun a => logits a + t * step a)) (0) (- sum n (fun a => own_covariance n logits a * step a)) /\
  (forall a, (a < n)%nat -> derivative (fun t => - own_covariance n (fun b => logits b + t * step b) a) (0) (- ((own_covariance n logits a + softmax n logits a) * step a - own_covariance n logits a * mean n (softmax n logits) step - softmax n logits a * sum n (fun b => own_covariance n logits b * step b) - softmax n logits a * mean n (softmax n logits) step))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (step : vector) (other : vector),
  (2 <= n)%nat.
