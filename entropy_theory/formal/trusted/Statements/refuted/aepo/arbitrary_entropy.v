(* Generated from the formula of the claim aepo.arbitrary-entropy (AEPO, title and Section 4.2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

(** Phi: mean logit of the correct actions minus the largest wrong one. *)
Definition gap (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct logits / count n logits correct - largest_on n (fun a => negb (correct a)) logits.

(** log e, with e = ((n - m)/m) e^{-Phi}, which the wrong actions' probability does not exceed. *)
Definition log_wrong_bound (n : nat) (logits : vector) (correct : mask) : R :=
  ln (count n logits (fun a => negb (correct a)) / count n logits correct) - gap n logits correct.

(** The largest entropy at probability e of the wrong actions: log m + h(e) + e log((n - m)/m). *)
Definition widest_entropy (right : R) (wrong : R) (log_e : R) : R :=
  ln right - exp log_e * log_e - (1 - exp log_e) * ln (1 + - exp log_e) + exp log_e * ln (wrong / right).

(** Upper bound on the entropy of this policy and of all that follow it. *)
Definition ceiling (n : nat) (logits : vector) (correct : mask) : R :=
  if less (exp (log_wrong_bound n logits correct)) (count n logits (fun a => negb (correct a)) / INR n) then widest_entropy (count n logits correct) (count n logits (fun a => negb (correct a))) (log_wrong_bound n logits correct) else ln (INR n).

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step_without_temperature (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** The exact expected AEPO step per unit learning rate, with alpha = 1. *)
Definition aepo_step (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) : vector :=
  fun a => grpo_weight * unit_step_without_temperature n logits correct a + unit_step n logits correct temperature a.

(** Logits after an exact expected AEPO step. *)
Definition after_step (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (learning_rate : R) : vector :=
  fun a => logits a + learning_rate * aepo_step n logits correct temperature grpo_weight a.

(** Logits after a step under AEPO's temperature switch: T = 1.2 below the target, else 0.8. *)
Definition switched_step (n : nat) (logits : vector) (correct : mask) (target : R) (learning_rate : R) : vector :=
  after_step n logits correct (if less (entropy n logits) target then 6 / 5 else 4 / 5) 1 learning_rate.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (target : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < target ->
  0 < learning_rate ->
  target < ln (INR n) ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  9 * target / 10 <= ceiling n (run (fun j z => (switched_step n z correct target learning_rate)) logits 16) correct.

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition aepo_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (a : nat) : Prop :=
  unit_step_defined n logits correct temperature a.

Definition after_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (learning_rate : R) (a : nat) : Prop :=
  aepo_step_defined n logits correct temperature grpo_weight a.

Definition switched_step_defined (n : nat) (logits : vector) (correct : mask) (target : R) (learning_rate : R) (a : nat) : Prop :=
  after_step_defined n logits correct (if less (entropy n logits) target then 6 / 5 else 4 / 5) 1 learning_rate a.

Definition gap_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  count n logits correct <> 0.

Definition log_wrong_bound_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  count n logits correct <> 0 /\
  0 < count n logits (fun a => negb (correct a)) / count n logits correct /\
  gap_defined n logits correct.

Definition widest_entropy_defined (right : R) (wrong : R) (log_e : R) : Prop :=
  0 < right /\
  0 < 1 + - exp log_e /\
  right <> 0 /\
  0 < wrong / right.

Definition ceiling_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  log_wrong_bound_defined n logits correct /\
  INR n <> 0 /\
  ((exp (log_wrong_bound n logits correct) < count n logits (fun a => negb (correct a)) / INR n) -> log_wrong_bound_defined n logits correct) /\
  ((exp (log_wrong_bound n logits correct) < count n logits (fun a => negb (correct a)) / INR n) -> widest_entropy_defined (count n logits correct) (count n logits (fun a => negb (correct a))) (log_wrong_bound n logits correct)) /\
  (~ (exp (log_wrong_bound n logits correct) < count n logits (fun a => negb (correct a)) / INR n) -> 0 < INR n).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (target : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < target ->
  0 < learning_rate ->
  target < ln (INR n) ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 < INR n /\
  (forall j : nat, forall z : vector, forall b, (b < n)%nat -> switched_step_defined n z correct target learning_rate b) /\
  ceiling_defined n (run (fun j z => (switched_step n z correct target learning_rate)) logits 16) correct.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
