(* Generated from the formula of the claim entropy-mechanism.kl-cov-on-policy (Entropy Mechanism, KL-Cov (Eqs. 13, 14), strictly on-policy). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** log pi_a + H = z_a - E z. *)
Definition relative_log_prob (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) logits.

(** A = r - E r. *)
Definition advantage (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => reward a - mean n (softmax n logits) reward.

(** K_a = (log pi_a - E log pi)(A_a - E A). *)
Definition token_covariance (n : nat) (logits : vector) (reward : vector) : vector :=
  fun a => relative_log_prob n logits a * advantage n logits reward a.

(** KL(pi || pi') for the logits of pi and of pi'. *)
Definition divergence (n : nat) (logits : vector) (moved : vector) : R :=
  mean n (softmax n logits) (fun a => log_softmax n logits a - log_softmax n moved a).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (reward : vector) (lower : R) (shift : R),
  (2 <= n)%nat ->
  0 < lower ->
  0 < shift ->
  (forall a, (a < n)%nat -> sum n (fun b => if negb (less (token_covariance n logits reward b) lower) then softmax n logits b else 0) * (softmax n (fun b => logits b + shift) a - softmax n logits a) = 0) /\
  (forall direction : vector, (derivative (fun t => divergence n logits (fun a => logits a + t * direction a)) (0) (0))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector) (lower : R) (shift : R),
  (2 <= n)%nat /\
  0 < lower /\
  0 < shift.
