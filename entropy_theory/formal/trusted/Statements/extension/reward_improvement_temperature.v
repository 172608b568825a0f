(* Generated from the formula of the claim extension.reward-improvement-temperature (Extension of AEPO, section 4.2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional_without_temperature (n : nat) (logits : vector) (chosen : mask) : vector :=
  fun a => (if chosen a then exp (logits a - largest_on n chosen logits) else 0) / sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0).

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional (n : nat) (logits : vector) (chosen : mask) (temperature : R) : vector :=
  fun a => (if chosen a then exp ((logits a - largest_on n chosen logits) / temperature) else 0) / sum n (fun b => if chosen b then exp ((logits b - largest_on n chosen logits) / temperature) else 0).

(** <grad p, q^T - pi> = Cov_pi(1_{A*}, q^T - pi), per correct tempered sample. *)
Definition sample_rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  covariance n (softmax n logits) (fun a => if correct a then 1 else 0) (fun a => conditional n logits correct temperature a - softmax n logits a).

(** p, the probability of a right answer. *)
Definition reward (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** The sum of q^2 over the right answers. *)
Definition sum_of_squares (n : nat) (logits : vector) (correct : mask) : R :=
  sum n (fun a => conditional_without_temperature n logits correct a ^ 2).

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (factor : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  1 <= factor ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (0 <= total_on n correct (fun a => (conditional_without_temperature n logits correct a - smallest_on n correct (conditional_without_temperature n logits correct)) * (conditional n logits correct temperature a - conditional n logits correct (temperature * factor) a)) /\
  reward n logits correct * reward n logits (fun a => negb (correct a)) ^ 2 * sum_of_squares n logits correct <= sample_rate n logits correct (Rmin temperature 1)) /\
  derivative (fun t => reward n (fun a => logits a + t * unit_step n logits correct temperature a) correct) (0) (total_on n correct (softmax n (tempered temperature logits)) * sample_rate n logits correct temperature) /\
  sample_rate n logits correct (temperature * factor) <= sample_rate n logits correct temperature.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (factor : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  1 <= factor /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition conditional_without_temperature_defined (n : nat) (logits : vector) (chosen : mask) (a : nat) : Prop :=
  sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0) <> 0.

Definition conditional_defined (n : nat) (logits : vector) (chosen : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0 /\
  sum n (fun b => if chosen b then exp ((logits b - largest_on n chosen logits) / temperature) else 0) <> 0.

Definition sample_rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  (forall a, (a < n)%nat -> conditional_defined n logits correct temperature a).

Definition sum_of_squares_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> conditional_without_temperature_defined n logits correct a).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (factor : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  1 <= factor ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall a, (a < n)%nat -> (correct a = true) -> conditional_without_temperature_defined n logits correct a) /\
  (forall a, (a < n)%nat -> (correct a = true) -> forall b, (b < n)%nat -> (correct b = true) -> conditional_without_temperature_defined n logits correct b) /\
  (forall a, (a < n)%nat -> (correct a = true) -> conditional_defined n logits correct temperature a) /\
  (forall a, (a < n)%nat -> (correct a = true) -> conditional_defined n logits correct (temperature * factor) a) /\
  sample_rate_defined n logits correct (Rmin temperature 1) /\
  sum_of_squares_defined n logits correct /\
  (forall a, (a < n)%nat -> unit_step_defined n logits correct temperature a) /\
  temperature <> 0 /\
  sample_rate_defined n logits correct temperature /\
  sample_rate_defined n logits correct (temperature * factor).
