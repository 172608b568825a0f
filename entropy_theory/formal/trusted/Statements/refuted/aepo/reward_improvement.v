(* Generated from the formula of the claim aepo.reward-improvement (AEPO, sections 1 and 4.2 (REINFORCE as regularization)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional_without_temperature (n : nat) (logits : vector) (chosen : mask) : vector :=
  fun a => (if chosen a then exp (logits a - largest_on n chosen logits) else 0) / sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0).

(** E_q e^d - 1, with q the policy on the chosen actions: by how much their weight grows. *)
Definition mean_growth (n : nat) (logits : vector) (chosen : mask) (step : vector) : R :=
  sum n (fun a => conditional_without_temperature n logits chosen a * (exp (step a) - 1)).

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  ln (1 + mean_growth n logits (fun a => negb (correct a)) (fun a => learning_rate * unit_step n logits correct temperature a)) <= ln (1 + mean_growth n logits correct (fun a => learning_rate * unit_step n logits correct temperature a)).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition conditional_without_temperature_defined (n : nat) (logits : vector) (chosen : mask) (a : nat) : Prop :=
  sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0) <> 0.

Definition mean_growth_defined (n : nat) (logits : vector) (chosen : mask) (step : vector) : Prop :=
  (forall a, (a < n)%nat -> conditional_without_temperature_defined n logits chosen a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall a, (a < n)%nat -> unit_step_defined n logits correct temperature a) /\
  mean_growth_defined n logits correct (fun a => learning_rate * unit_step n logits correct temperature a) /\
  0 < 1 + mean_growth n logits correct (fun a => learning_rate * unit_step n logits correct temperature a) /\
  mean_growth_defined n logits (fun a => negb (correct a)) (fun a => learning_rate * unit_step n logits correct temperature a) /\
  0 < 1 + mean_growth n logits (fun a => negb (correct a)) (fun a => learning_rate * unit_step n logits correct temperature a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
