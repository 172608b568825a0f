(* Generated from the formula of the claim entropy-mechanism.covariance-positive (Entropy Mechanism, lessons from the entropy dynamics (Table 1)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** Cov_pi(log pi, pi A), as the covariance of the reward and c. *)
Definition plain_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward (own_covariance n logits).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  0 <= smallest n (fun a => smallest n (fun b => (reward a - reward b) * (logits a - logits b))) ->
  smallest n logits < largest n logits ->
  smallest n reward < largest n reward ->
  0 < plain_covariance n logits reward /\
  covariance n (softmax n logits) (log_softmax n logits) (fun a => softmax n logits a * centered n (softmax n logits) reward a) = plain_covariance n logits reward /\
  derivative (fun t => entropy n (fun a => logits a + t * (softmax n logits a * centered n (softmax n logits) reward a))) (0) (- plain_covariance n logits reward).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat /\
  0 <= smallest n (fun a => smallest n (fun b => (reward a - reward b) * (logits a - logits b))) /\
  smallest n logits < largest n logits /\
  smallest n reward < largest n reward.
