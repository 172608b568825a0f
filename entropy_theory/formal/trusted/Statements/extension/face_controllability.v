(* Generated from the formula of the claim extension.face-controllability (Extension of AEPO, Corollary 4.4 (a state that is solved)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

(** F(T) on the solved face. *)
Definition face_rate (n : nat) (logits : vector) (temperature : R) : R :=
  rate n logits (fun a => true) temperature.

(** The largest logit minus the smallest. *)
Definition logit_range (n : nat) (logits : vector) : R :=
  largest n logits - smallest n logits.

(** The step per unit learning rate on the solved face: q^T - q. *)
Definition face_step (n : nat) (logits : vector) (temperature : R) : vector :=
  fun a => softmax n (tempered temperature logits) a - softmax n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  0 < temperature ->
  0 < learning_rate ->
  learning_rate <= 2 ->
  (0 <= (temperature - 1) * face_rate n logits temperature /\
  0 <= (temperature - 1) * (logit_range n logits - logit_range n (fun a => logits a + learning_rate * face_step n logits temperature a)) /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> Rabs (learning_rate * face_step n logits temperature a - learning_rate * face_step n logits temperature b) <= learning_rate * Rmax 1 (1 / temperature) / 2 * Rabs (logits a - logits b))) /\
  (((0 < (temperature - 1) * (temperature - 1)) /\ (0 < logit_range n logits)) -> (0 < (temperature - 1) * face_rate n logits temperature) /\ (0 < (temperature - 1) * (logit_range n logits - logit_range n (fun a => logits a + learning_rate * face_step n logits temperature a)))) /\
  ((0 < temperature - 1) -> tends_to (fun k => entropy n (run (fun j z => (fun b => z b + learning_rate * face_step n z temperature b)) logits k)) (ln (INR n))) /\
  ((temperature - 1 < 0) -> tends_to (fun k => entropy n (run (fun j z => (fun b => z b + learning_rate * face_step n z temperature b)) logits k)) (ln (total_on n (fun a => negb (less (logits a) (largest n logits))) (fun a => 1)))) /\
  (forall temperatures : nat -> R, (forall k : nat, 0 < temperatures k) -> (forall k : nat, ln (total_on n (fun a => negb (less (logits a) (largest n logits))) (fun a => 1)) <= entropy n (run (fun j z => (fun b => z b + learning_rate * face_step n z (temperatures j) b)) logits k))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat /\
  0 < temperature /\
  0 < learning_rate /\
  learning_rate <= 2.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat /\
  0 < temperature /\
  0 < learning_rate /\
  learning_rate <= 2 /\
  ((0 < (temperature - 1) * (temperature - 1)) /\ (0 < logit_range n logits)).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat /\
  0 < temperature /\
  0 < learning_rate /\
  learning_rate <= 2 /\
  (0 < temperature - 1).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat /\
  0 < temperature /\
  0 < learning_rate /\
  learning_rate <= 2 /\
  (temperature - 1 < 0).

Definition witness_4 : Prop :=
  exists (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat /\
  0 < temperature /\
  0 < learning_rate /\
  learning_rate <= 2 /\
  (exists temperatures : nat -> R, (forall k : nat, 0 < temperatures k)).

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition face_rate_defined (n : nat) (logits : vector) (temperature : R) : Prop :=
  rate_defined n logits (fun a => true) temperature.

Definition face_step_defined (n : nat) (logits : vector) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  0 < temperature ->
  0 < learning_rate ->
  learning_rate <= 2 ->
  face_rate_defined n logits temperature /\
  (forall a, (a < n)%nat -> face_step_defined n logits temperature a) /\
  temperature <> 0 /\
  (forall b, (b < n)%nat -> face_step_defined n logits temperature b) /\
  (((0 < (temperature - 1) * (temperature - 1)) /\ (0 < logit_range n logits)) -> face_rate_defined n logits temperature) /\
  (((0 < (temperature - 1) * (temperature - 1)) /\ (0 < logit_range n logits)) -> (0 < (temperature - 1) * face_rate n logits temperature) -> forall a, (a < n)%nat -> face_step_defined n logits temperature a) /\
  ((0 < temperature - 1) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> face_step_defined n z temperature b) /\
  0 < INR n /\
  ((temperature - 1 < 0) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> face_step_defined n z temperature b) /\
  ((temperature - 1 < 0) -> 0 < total_on n (fun a => negb (less (logits a) (largest n logits))) (fun a => 1)) /\
  0 < total_on n (fun a => negb (less (logits a) (largest n logits))) (fun a => 1) /\
  (forall temperatures : nat -> R, (forall k : nat, 0 < temperatures k) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> face_step_defined n z (temperatures j) b).
