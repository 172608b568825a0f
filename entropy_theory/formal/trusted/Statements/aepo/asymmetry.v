(* Generated from the formula of the claim aepo.asymmetry (AEPO, section 4.1 (Figure 2)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** R, the difference between the largest and the smallest logit. *)
Definition logit_range (n : nat) (logits : vector) : R :=
  largest n logits - smallest n logits.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** F(T) where every action is correct. *)
Definition rate_on_solved_face (n : nat) (logits : vector) (temperature : R) : R :=
  - sum n (fun a => softmax n (tempered temperature logits) a * excess n logits a).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (temperature_high : R) (temperature_low : R),
  (2 <= n)%nat ->
  1 < temperature_high ->
  0 < temperature_low ->
  temperature_low < 1 ->
  1 - 1 / temperature_high <= 1 / temperature_low - 1 ->
  logit_range n logits <= 1 ->
  exp (2 * logit_range n logits * (1 - 1 / temperature_high)) + exp (- (2 * logit_range n logits) * (1 / temperature_low - 1)) <= 2 ->
  0 <= sum n (fun a => (softmax n (tempered temperature_low logits) a - softmax n logits a + (softmax n (tempered temperature_high logits) a - softmax n logits a)) * excess n logits a) /\
  0 <= rate_on_solved_face n logits temperature_high /\
  rate_on_solved_face n logits temperature_low <= 0 /\
  rate_on_solved_face n logits temperature_high <= Rabs (rate_on_solved_face n logits temperature_low).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (temperature_high : R) (temperature_low : R),
  (2 <= n)%nat /\
  1 < temperature_high /\
  0 < temperature_low /\
  temperature_low < 1 /\
  1 - 1 / temperature_high <= 1 / temperature_low - 1 /\
  logit_range n logits <= 1 /\
  exp (2 * logit_range n logits * (1 - 1 / temperature_high)) + exp (- (2 * logit_range n logits) * (1 / temperature_low - 1)) <= 2.

Definition rate_on_solved_face_defined (n : nat) (logits : vector) (temperature : R) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (temperature_high : R) (temperature_low : R),
  (2 <= n)%nat ->
  1 < temperature_high ->
  0 < temperature_low ->
  temperature_low < 1 ->
  1 - 1 / temperature_high <= 1 / temperature_low - 1 ->
  logit_range n logits <= 1 ->
  exp (2 * logit_range n logits * (1 - 1 / temperature_high)) + exp (- (2 * logit_range n logits) * (1 / temperature_low - 1)) <= 2 ->
  temperature_low <> 0 /\
  temperature_high <> 0 /\
  rate_on_solved_face_defined n logits temperature_high /\
  rate_on_solved_face_defined n logits temperature_low.
