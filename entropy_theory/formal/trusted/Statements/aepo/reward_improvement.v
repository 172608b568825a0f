(* Generated from the formula of the claim aepo.reward-improvement (AEPO, sections 1 and 4.2 (REINFORCE as regularization)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** p, the probability of a right answer. *)
Definition reward (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional_without_temperature (n : nat) (logits : vector) (chosen : mask) : vector :=
  fun a => (if chosen a then exp (logits a - largest_on n chosen logits) else 0) / sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0).

(** The sum of q^2 over the right answers. *)
Definition sum_of_squares (n : nat) (logits : vector) (correct : mask) : R :=
  sum n (fun a => conditional_without_temperature n logits correct a ^ 2).

(** E_q e^d - 1, with q the policy on the chosen actions: by how much their weight grows. *)
Definition mean_growth (n : nat) (logits : vector) (chosen : mask) (step : vector) : R :=
  sum n (fun a => conditional_without_temperature n logits chosen a * (exp (step a) - 1)).

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 <= Rmax (1 - temperature) (1 - reward n logits correct * total_on n correct (fun a => 1) * sum_of_squares n logits correct) ->
  ln (1 + mean_growth n logits (fun a => negb (correct a)) (fun a => learning_rate * unit_step n logits correct temperature a)) < ln (1 + mean_growth n logits correct (fun a => learning_rate * unit_step n logits correct temperature a)) /\
  reward n logits correct < reward n (fun a => logits a + learning_rate * unit_step n logits correct temperature a) correct.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < learning_rate /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  0 <= Rmax (1 - temperature) (1 - reward n logits correct * total_on n correct (fun a => 1) * sum_of_squares n logits correct).

Definition conditional_without_temperature_defined (n : nat) (logits : vector) (chosen : mask) (a : nat) : Prop :=
  sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0) <> 0.

Definition sum_of_squares_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  (forall a, (a < n)%nat -> conditional_without_temperature_defined n logits correct a).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition mean_growth_defined (n : nat) (logits : vector) (chosen : mask) (step : vector) : Prop :=
  (forall a, (a < n)%nat -> conditional_without_temperature_defined n logits chosen a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 <= Rmax (1 - temperature) (1 - reward n logits correct * total_on n correct (fun a => 1) * sum_of_squares n logits correct) ->
  sum_of_squares_defined n logits correct /\
  (forall a, (a < n)%nat -> unit_step_defined n logits correct temperature a) /\
  mean_growth_defined n logits correct (fun a => learning_rate * unit_step n logits correct temperature a) /\
  0 < 1 + mean_growth n logits correct (fun a => learning_rate * unit_step n logits correct temperature a) /\
  mean_growth_defined n logits (fun a => negb (correct a)) (fun a => learning_rate * unit_step n logits correct temperature a) /\
  0 < 1 + mean_growth n logits (fun a => negb (correct a)) (fun a => learning_rate * unit_step n logits correct temperature a).
