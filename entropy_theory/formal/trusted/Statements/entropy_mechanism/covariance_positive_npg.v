(* Generated from the formula of the claim entropy-mechanism.covariance-positive-npg (Entropy Mechanism, lessons from the entropy dynamics (Table 1), with Theorem 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Cov_pi(log pi, A) = Cov_pi(z, r). *)
Definition natural_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) logits reward.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  0 <= smallest n (fun a => smallest n (fun b => (reward a - reward b) * (logits a - logits b))) ->
  smallest n logits < largest n logits ->
  smallest n reward < largest n reward ->
  0 < natural_covariance n logits reward /\
  covariance n (softmax n logits) (log_softmax n logits) (centered n (softmax n logits) reward) = natural_covariance n logits reward /\
  derivative (fun t => entropy n (fun a => logits a + t * centered n (softmax n logits) reward a)) (0) (- natural_covariance n logits reward).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat /\
  0 <= smallest n (fun a => smallest n (fun b => (reward a - reward b) * (logits a - logits b))) /\
  smallest n logits < largest n logits /\
  smallest n reward < largest n reward.
