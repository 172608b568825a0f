(* Generated from the formula of the claim later-work.annealed-covariance (Comparative theory of entropy control (arXiv 2604.09676), abstract, made precise). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** E[z | A]. *)
Definition mean_within (n : nat) (logits : vector) (inside : mask) : R :=
  total_on n inside (fun a => softmax n logits a * logits a) / total_on n inside (softmax n logits).

(** 1 - beta (1 + (1 - 2p) l), the rate of V - beta Cov along 1_{A*} over p (1 - p). *)
Definition bracket (n : nat) (logits : vector) (correct : mask) (beta : R) : R :=
  1 - beta * (1 + (1 - 2 * total_on n correct (softmax n logits)) * (mean_within n logits correct - mean_within n logits (fun a => negb (correct a)))).

(** beta, as a share of the threshold 1/(1 + log(n - 1)). *)
Definition covariance_weight (n : nat) (logits : vector) (share : R) : R :=
  share / (1 + ln (INR n - 1)).

(** 1 - V at softmax(r/lambda). *)
Definition gap_of_bonus (tokens : R) (right : R) (coefficient : R) : R :=
  (tokens - right) * exp (- 1 / coefficient) / ((tokens - right) * exp (- 1 / coefficient) + right).

(** V - beta Cov_pi(log pi, r). *)
Definition penalized (n : nat) (logits : vector) (correct : mask) (beta : R) : R :=
  total_on n correct (softmax n logits) - beta * covariance n (softmax n logits) (log_softmax n logits) (fun a => if correct a then 1 else 0).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (share : R) (coefficient : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < share ->
  share <= 1 ->
  0 < coefficient ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (0 <= bracket n logits correct (covariance_weight n logits share) /\
  0 <= gap_of_bonus (INR n) (total_on n correct (fun a => 1)) coefficient /\
  gap_of_bonus (INR n) (total_on n correct (fun a => 1)) coefficient <= coefficient * ln (INR n / total_on n correct (fun a => 1))) /\
  derivative (fun t => penalized n (fun a => logits a + (if correct a then t else 0)) correct (covariance_weight n logits share)) (0) (total_on n correct (softmax n logits) * (1 - total_on n correct (softmax n logits)) * bracket n logits correct (covariance_weight n logits share)) /\
  ((share < 1) -> 0 < bracket n logits correct (covariance_weight n logits share)) /\
  0 < gap_of_bonus (INR n) (total_on n correct (fun a => 1)) coefficient.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (share : R) (coefficient : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < share /\
  share <= 1 /\
  0 < coefficient /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (share : R) (coefficient : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < share /\
  share <= 1 /\
  0 < coefficient /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (share < 1).

Definition covariance_weight_defined (n : nat) (logits : vector) (share : R) : Prop :=
  0 < (INR n - 1) /\
  1 + ln (INR n - 1) <> 0.

Definition mean_within_defined (n : nat) (logits : vector) (inside : mask) : Prop :=
  total_on n inside (softmax n logits) <> 0.

Definition bracket_defined (n : nat) (logits : vector) (correct : mask) (beta : R) : Prop :=
  mean_within_defined n logits correct /\
  mean_within_defined n logits (fun a => negb (correct a)).

Definition gap_of_bonus_defined (tokens : R) (right : R) (coefficient : R) : Prop :=
  coefficient <> 0 /\
  (tokens - right) * exp (- 1 / coefficient) + right <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (share : R) (coefficient : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < share ->
  share <= 1 ->
  0 < coefficient ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  covariance_weight_defined n logits share /\
  bracket_defined n logits correct (covariance_weight n logits share) /\
  gap_of_bonus_defined (INR n) (total_on n correct (fun a => 1)) coefficient /\
  total_on n correct (fun a => 1) <> 0 /\
  0 < INR n / total_on n correct (fun a => 1) /\
  ((share < 1) -> covariance_weight_defined n logits share) /\
  ((share < 1) -> bracket_defined n logits correct (covariance_weight n logits share)).
