(* Generated from the formula of the claim later-work.steer (STEER (arXiv 2510.10150), the estimate of a token's entropy change). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** -Omega of each action on policy, at A = 1 and per unit of 1/pi_old. *)
Definition estimate (n : nat) (logits : vector) : vector :=
  fun a => - (1 - softmax n logits a) * own_covariance n logits a.

(** First-order change of entropy by the step e_k - pi, for each sampled action k. *)
Definition effect_of_sample (n : nat) (logits : vector) : vector :=
  fun a => - covariance n (fun b => softmax n logits b) (fun b => logits b) (fun b => (if Nat.eqb a b then 1 else 0) - softmax n logits b).

Definition printed : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  forall a, (a < n)%nat -> 0 <= estimate n logits a * effect_of_sample n logits a.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
