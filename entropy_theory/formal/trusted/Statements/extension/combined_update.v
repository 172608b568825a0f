(* Generated from the formula of the claim extension.combined-update (Extension of AEPO, Eq. 1 and Theorem 4.3). *)

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
Definition rate_without_temperature (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step_without_temperature (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** kappa grad p + alpha (1_{A*} pi^T - P_T pi), per unit learning rate. *)
Definition combined_step (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) : vector :=
  fun a => grpo_weight * unit_step_without_temperature n logits correct a + alpha * unit_step n logits correct temperature a.

(** -Cov(z, step), the change of entropy to first order, per unit learning rate. *)
Definition first_order (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) : R :=
  - covariance n (softmax n logits) logits (combined_step n logits correct temperature grpo_weight alpha).

(** F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

(** Return alpha F(T) - kappa |F(1)|. *)
Definition balance (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) : R :=
  alpha * rate n logits correct temperature + grpo_weight * rate_without_temperature n logits correct.

(** (1/4)(1 + log n) ||step||_2^2. *)
Definition remainder_bound (n : nat) (step : vector) : R :=
  (1 + ln (INR n)) * sum n (fun a => step a * step a) / 4.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 < temperature ->
  0 < grpo_weight ->
  0 < alpha ->
  0 < learning_rate ->
  0 < - rate_without_temperature n logits correct ->
  (0 <= Rmax (- first_order n logits correct temperature grpo_weight alpha) (Rmin (rate n logits correct temperature) (balance n logits correct temperature grpo_weight alpha)) /\
  0 <= Rmax (- Rmin (rate n logits correct temperature) (balance n logits correct temperature grpo_weight alpha)) (first_order n logits correct temperature grpo_weight alpha) /\
  0 <= Rmax (- (learning_rate * balance n logits correct temperature grpo_weight alpha - remainder_bound n (fun a => learning_rate * combined_step n logits correct temperature grpo_weight alpha a))) (entropy_change n logits (fun a => learning_rate * combined_step n logits correct temperature grpo_weight alpha a))) /\
  ((0 < first_order n logits correct temperature grpo_weight alpha) -> (0 < rate n logits correct temperature) /\ (grpo_weight * Rabs (rate_without_temperature n logits correct) / rate n logits correct temperature < alpha)) /\
  (((0 < rate n logits correct temperature) /\ (grpo_weight * Rabs (rate_without_temperature n logits correct) / rate n logits correct temperature < alpha)) -> 0 < first_order n logits correct temperature grpo_weight alpha) /\
  derivative (fun t => entropy n (fun a => logits a + t * combined_step n logits correct temperature grpo_weight alpha a)) (0) (first_order n logits correct temperature grpo_weight alpha) /\
  ((learning_rate * ((1 + ln (INR n)) * sum n (fun a => combined_step n logits correct temperature grpo_weight alpha a * combined_step n logits correct temperature grpo_weight alpha a)) < 4 * first_order n logits correct temperature grpo_weight alpha) -> 0 < entropy_change n logits (fun a => learning_rate * combined_step n logits correct temperature grpo_weight alpha a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) (learning_rate : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 < temperature /\
  0 < grpo_weight /\
  0 < alpha /\
  0 < learning_rate /\
  0 < - rate_without_temperature n logits correct.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) (learning_rate : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 < temperature /\
  0 < grpo_weight /\
  0 < alpha /\
  0 < learning_rate /\
  0 < - rate_without_temperature n logits correct /\
  (0 < first_order n logits correct temperature grpo_weight alpha).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) (learning_rate : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 < temperature /\
  0 < grpo_weight /\
  0 < alpha /\
  0 < learning_rate /\
  0 < - rate_without_temperature n logits correct /\
  ((0 < rate n logits correct temperature) /\ (grpo_weight * Rabs (rate_without_temperature n logits correct) / rate n logits correct temperature < alpha)).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) (learning_rate : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 < temperature /\
  0 < grpo_weight /\
  0 < alpha /\
  0 < learning_rate /\
  0 < - rate_without_temperature n logits correct /\
  (learning_rate * ((1 + ln (INR n)) * sum n (fun a => combined_step n logits correct temperature grpo_weight alpha a * combined_step n logits correct temperature grpo_weight alpha a)) < 4 * first_order n logits correct temperature grpo_weight alpha).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition combined_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) (a : nat) : Prop :=
  unit_step_defined n logits correct temperature a.

Definition first_order_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) : Prop :=
  (forall a, (a < n)%nat -> combined_step_defined n logits correct temperature grpo_weight alpha a).

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition balance_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) : Prop :=
  rate_defined n logits correct temperature.

Definition remainder_bound_defined (n : nat) (step : vector) : Prop :=
  0 < INR n.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (alpha : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 < temperature ->
  0 < grpo_weight ->
  0 < alpha ->
  0 < learning_rate ->
  0 < - rate_without_temperature n logits correct ->
  first_order_defined n logits correct temperature grpo_weight alpha /\
  rate_defined n logits correct temperature /\
  balance_defined n logits correct temperature grpo_weight alpha /\
  (forall a, (a < n)%nat -> combined_step_defined n logits correct temperature grpo_weight alpha a) /\
  remainder_bound_defined n (fun a => learning_rate * combined_step n logits correct temperature grpo_weight alpha a) /\
  ((0 < first_order n logits correct temperature grpo_weight alpha) -> rate_defined n logits correct temperature) /\
  ((0 < first_order n logits correct temperature grpo_weight alpha) -> (0 < rate n logits correct temperature) -> rate_defined n logits correct temperature) /\
  ((0 < first_order n logits correct temperature grpo_weight alpha) -> (0 < rate n logits correct temperature) -> rate n logits correct temperature <> 0) /\
  ((0 < rate n logits correct temperature) -> rate_defined n logits correct temperature) /\
  ((0 < rate n logits correct temperature) -> rate n logits correct temperature <> 0) /\
  (((0 < rate n logits correct temperature) /\ (grpo_weight * Rabs (rate_without_temperature n logits correct) / rate n logits correct temperature < alpha)) -> first_order_defined n logits correct temperature grpo_weight alpha) /\
  0 < INR n /\
  ((learning_rate * ((1 + ln (INR n)) * sum n (fun a => combined_step n logits correct temperature grpo_weight alpha a * combined_step n logits correct temperature grpo_weight alpha a)) < 4 * first_order n logits correct temperature grpo_weight alpha) -> forall a, (a < n)%nat -> combined_step_defined n logits correct temperature grpo_weight alpha a).
