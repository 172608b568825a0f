(* Generated from the formula of the claim extension.transient-collapse (Extension of AEPO, Section 4.2 (GRPO and AEPO's term together, one tabular state)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

(** The largest of the chosen logits minus the smallest of them. *)
Definition range_on (n : nat) (logits : vector) (chosen : mask) : R :=
  largest_on n chosen logits - smallest_on n chosen logits.

(** The bound on the change of the range, per unit learning rate. *)
Definition drift (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) : R :=
  (grpo_weight + 1) * (count n logits (fun a => negb (correct a)) * exp (largest_on n (fun a => negb (correct a)) logits - largest_on n correct logits)) - total_on n correct (softmax n (tempered temperature logits)) * (exp (- range_on n logits correct / temperature) / count n logits correct - exp (- range_on n logits correct)).

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

(** B: the least likely right logit minus the largest wrong one. *)
Definition lead (n : nat) (logits : vector) (correct : mask) : R :=
  smallest_on n correct logits - largest_on n (fun a => negb (correct a)) logits.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 < temperature ->
  0 < learning_rate ->
  learning_rate <= 2 ->
  0 <= grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  ((range_on n (after_step n logits correct temperature grpo_weight learning_rate) correct - range_on n logits correct) / learning_rate <= drift n logits correct temperature grpo_weight /\
  lead n logits correct <= lead n (after_step n logits correct temperature grpo_weight learning_rate) correct) /\
  (forall most : R, (forall weights : nat -> R, (forall k : nat, (0 <= weights k) /\ (weights k <= most)) -> ((tends_to (fun k => range_on n (run (fun j z => (after_step n z correct temperature (weights j) learning_rate)) logits k) correct) (0)) /\ (tends_to (fun k => entropy n (run (fun j z => (after_step n z correct temperature (weights j) learning_rate)) logits k)) (ln (count n logits correct)))))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 < temperature /\
  0 < learning_rate /\
  learning_rate <= 2 /\
  0 <= grpo_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 < temperature /\
  0 < learning_rate /\
  learning_rate <= 2 /\
  0 <= grpo_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists most : R, (exists weights : nat -> R, (forall k : nat, (0 <= weights k) /\ (weights k <= most)))).

Definition drift_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) : Prop :=
  temperature <> 0 /\
  count n logits correct <> 0.

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition aepo_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (a : nat) : Prop :=
  unit_step_defined n logits correct temperature a.

Definition after_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (learning_rate : R) (a : nat) : Prop :=
  aepo_step_defined n logits correct temperature grpo_weight a.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 < temperature ->
  0 < learning_rate ->
  learning_rate <= 2 ->
  0 <= grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  drift_defined n logits correct temperature grpo_weight /\
  (forall a, (a < n)%nat -> after_step_defined n logits correct temperature grpo_weight learning_rate a) /\
  learning_rate <> 0 /\
  (forall most : R, forall weights : nat -> R, (forall k : nat, (0 <= weights k) /\ (weights k <= most)) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z correct temperature (weights j) learning_rate b) /\
  (forall most : R, forall weights : nat -> R, (forall k : nat, (0 <= weights k) /\ (weights k <= most)) -> (tends_to (fun k => range_on n (run (fun j z => (after_step n z correct temperature (weights j) learning_rate)) logits k) correct) (0)) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z correct temperature (weights j) learning_rate b) /\
  (forall most : R, forall weights : nat -> R, (forall k : nat, (0 <= weights k) /\ (weights k <= most)) -> (tends_to (fun k => range_on n (run (fun j z => (after_step n z correct temperature (weights j) learning_rate)) logits k) correct) (0)) -> 0 < count n logits correct).
