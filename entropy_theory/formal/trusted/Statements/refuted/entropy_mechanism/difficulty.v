(* Generated from the formula of the claim entropy-mechanism.difficulty (Entropy Mechanism, Figure 8 (right)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** Cov_pi(log pi, pi A), as the covariance of the reward and c. *)
Definition plain_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward (own_covariance n logits).

(** Cov_pi(log pi, pi A), the first answer being the right one. *)
Definition prompt_covariance (n : nat) (logits : vector) : R :=
  plain_covariance n logits (fun a => if Nat.eqb a 0%nat then 1 else 0).

(** The prompt with its right logit raised. *)
Definition easier (n : nat) (logits : vector) (shift : R) : vector :=
  fun a => logits a + (if Nat.eqb a 0%nat then shift else 0).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (shift : R),
  (2 <= n)%nat ->
  0 < shift ->
  prompt_covariance n logits <= prompt_covariance n (easier n logits shift).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
