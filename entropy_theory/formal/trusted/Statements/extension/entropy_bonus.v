(* Generated from the formula of the claim extension.entropy-bonus (Extension: entropy bonus with vanilla gradient steps). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** The step -c S of strength c = eta lambda. *)
Definition bonus_step (n : nat) (logits : vector) (strength : R) : vector :=
  fun a => - strength * own_covariance n logits a.

(** ||S||_2^2. *)
Definition squared_tilt (n : nat) (logits : vector) : R :=
  sum n (fun a => own_covariance n logits a * own_covariance n logits a).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (share : R),
  (2 <= n)%nat ->
  0 < share ->
  share <= 1 ->
  0 <= entropy_change n logits (bonus_step n logits (share * (2 / ((25 + 8 * ln (INR n)) / 40)))) /\
  (forall c : R, (derivative (fun t => entropy n (fun a => logits a + t * bonus_step n logits c a)) (0) (c * squared_tilt n logits))) /\
  ((squared_tilt n logits = 0) -> forall a, (a < n)%nat -> softmax n logits a = 1 / INR n).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (share : R),
  (2 <= n)%nat /\
  0 < share /\
  share <= 1.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (share : R),
  (2 <= n)%nat /\
  0 < share /\
  share <= 1 /\
  (squared_tilt n logits = 0).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (share : R),
  (2 <= n)%nat ->
  0 < share ->
  share <= 1 ->
  0 < INR n /\
  (25 + 8 * ln (INR n)) / 40 <> 0 /\
  ((squared_tilt n logits = 0) -> INR n <> 0).
