(* Generated from the formula of the claim later-work.top-entropy (Top-entropy tokens, 80/20 (arXiv 2506.01939)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** Cov_pi(log pi, pi A), as the covariance of the reward and c. *)
Definition plain_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward (own_covariance n logits).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (other : vector) (reward : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= reward a) ->
  (forall a, (a < n)%nat -> reward a <= 1) ->
  entropy n other <= entropy n logits ->
  Rabs (plain_covariance n other reward) <= Rabs (plain_covariance n logits reward).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
