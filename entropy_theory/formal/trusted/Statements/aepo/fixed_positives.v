(* Generated from the formula of the claim aepo.fixed-positives (AEPO, Table 4 (60 positives when raising, 30 when lowering)). *)

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

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional (n : nat) (logits : vector) (chosen : mask) (temperature : R) : vector :=
  fun a => (if chosen a then exp ((logits a - largest_on n chosen logits) / temperature) else 0) / sum n (fun b => if chosen b then exp ((logits b - largest_on n chosen logits) / temperature) else 0).

(** G(T) = -Cov_pi(z, q^T - pi). *)
Definition fixed_rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - covariance n (softmax n logits) logits (fun a => conditional n logits correct temperature a - softmax n logits a).

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional_without_temperature (n : nat) (logits : vector) (chosen : mask) : vector :=
  fun a => (if chosen a then exp (logits a - largest_on n chosen logits) else 0) / sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0).

(** E_q c. *)
Definition mean_of_correct (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => conditional_without_temperature n logits correct a * own_covariance n logits a).

(** G(T) - G(1) = E_q c - E_{q^T} c. *)
Definition gain (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  total_on n correct (fun a => (conditional_without_temperature n logits correct a - conditional n logits correct temperature a) * (own_covariance n logits a - smallest_on n correct (own_covariance n logits))).

(** F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature. *)
Definition rate_without_temperature (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** G(T) = -Cov_pi(z, q^T - pi). *)
Definition fixed_rate_without_temperature (n : nat) (logits : vector) (correct : mask) : R :=
  - covariance n (softmax n logits) logits (fun a => conditional_without_temperature n logits correct a - softmax n logits a).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  (0 <= rate n logits correct temperature * fixed_rate n logits correct temperature /\
  0 <= Rmax (- mean_of_correct n logits correct) ((temperature - 1) * gain n logits correct temperature) /\
  0 <= Rmax (rate_without_temperature n logits correct) (mean_of_correct n logits correct)) /\
  rate n logits correct temperature = total_on n correct (softmax n (tempered temperature logits)) * fixed_rate n logits correct temperature /\
  0 < total_on n correct (softmax n (tempered temperature logits)) /\
  total_on n correct (softmax n (tempered temperature logits)) <= 1 /\
  ((rate_without_temperature n logits correct < 0) -> 0 <= (temperature - 1) * (fixed_rate n logits correct temperature - fixed_rate_without_temperature n logits correct)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  (rate_without_temperature n logits correct < 0).

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition conditional_defined (n : nat) (logits : vector) (chosen : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0 /\
  sum n (fun b => if chosen b then exp ((logits b - largest_on n chosen logits) / temperature) else 0) <> 0.

Definition fixed_rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  (forall a, (a < n)%nat -> conditional_defined n logits correct temperature a).

Definition conditional_without_temperature_defined (n : nat) (logits : vector) (chosen : mask) (a : nat) : Prop :=
  sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0) <> 0.

Definition mean_of_correct_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> (correct a = true) -> conditional_without_temperature_defined n logits correct a).

Definition gain_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  (forall a, (a < n)%nat -> (correct a = true) -> conditional_without_temperature_defined n logits correct a) /\
  (forall a, (a < n)%nat -> (correct a = true) -> conditional_defined n logits correct temperature a).

Definition fixed_rate_without_temperature_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> conditional_without_temperature_defined n logits correct a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  rate_defined n logits correct temperature /\
  fixed_rate_defined n logits correct temperature /\
  mean_of_correct_defined n logits correct /\
  gain_defined n logits correct temperature /\
  temperature <> 0 /\
  ((rate_without_temperature n logits correct < 0) -> fixed_rate_defined n logits correct temperature) /\
  ((rate_without_temperature n logits correct < 0) -> fixed_rate_without_temperature_defined n logits correct).
