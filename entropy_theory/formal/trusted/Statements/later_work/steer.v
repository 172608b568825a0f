(* Generated from the formula of the claim later-work.steer (STEER (arXiv 2510.10150), the estimate of a token's entropy change). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** log pi_a + H = z_a - E z. *)
Definition relative_log_prob (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) logits.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** -Omega of each action on policy, at A = 1 and per unit of 1/pi_old. *)
Definition estimate (n : nat) (logits : vector) : vector :=
  fun a => - (1 - softmax n logits a) * own_covariance n logits a.

(** First-order change of entropy by the step e_k - pi, for each sampled action k. *)
Definition effect_of_sample (n : nat) (logits : vector) : vector :=
  fun a => - covariance n (fun b => softmax n logits b) (fun b => logits b) (fun b => (if Nat.eqb a b then 1 else 0) - softmax n logits b).

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

Definition repair : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 < (if less (relative_log_prob n logits a) 0 then estimate n logits a * effect_of_sample n logits a else 1)) /\
  (forall a, (a < n)%nat -> effect_of_sample n logits a - estimate n logits a = mean n (softmax n logits) (own_covariance n logits) - softmax n logits a * own_covariance n logits a) /\
  (forall a, (a < n)%nat -> effect_of_sample n logits a = - excess n logits a).

Definition witness : Prop :=
  exists (n : nat) (logits : vector),
  (2 <= n)%nat.
