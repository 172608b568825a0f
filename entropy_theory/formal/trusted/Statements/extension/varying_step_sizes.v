(* Generated from the formula of the claim extension.varying-step-sizes (Extension of AEPO (exact expected dynamics of one tabular state)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** 1 - p, the probability of the wrong actions. *)
Definition wrong_mass (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (softmax n logits).

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

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (second_learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  0 < second_learning_rate ->
  0 <= grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  wrong_mass n logits correct * exp (- ((learning_rate + second_learning_rate) * (1 + grpo_weight))) <= wrong_mass n (after_step n (after_step n logits correct temperature grpo_weight learning_rate) correct temperature grpo_weight second_learning_rate) correct /\
  (forall lowest : R, (0 < lowest) -> (forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> (forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> (forall rates : nat -> R, (forall k : nat, 0 <= rates k) -> (forall k : nat, wrong_mass n logits correct * exp (- run (fun j c => (c + rates j * (1 + weights j))) 0 k) <= wrong_mass n (run (fun j z => (after_step n z correct (temperatures j) (weights j) (rates j))) logits k) correct))))) /\
  (forall lowest : R, (0 < lowest) -> (forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> (forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> (forall rates : nat -> R, (forall k : nat, 0 <= rates k) -> ((forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j * (1 + weights j))) 0 k <= bound))) -> (tends_to (fun k => total_on n correct (softmax n (run (fun j z => (after_step n z correct (temperatures j) (weights j) (rates j))) logits k))) (1)) /\ (limsup_at_most (fun k => entropy n (run (fun j z => (after_step n z correct (temperatures j) (weights j) (rates j))) logits k)) (ln (count n logits correct)))))))) /\
  (forall lowest : R, (0 < lowest) -> (forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> (forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> (forall rates : nat -> R, (forall k : nat, 0 <= rates k) -> ((tends_to (fun k => total_on n correct (softmax n (run (fun j z => (after_step n z correct (temperatures j) (weights j) (rates j))) logits k))) (1)) -> forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j * (1 + weights j))) 0 k <= bound))))))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (second_learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < learning_rate /\
  0 < second_learning_rate /\
  0 <= grpo_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (second_learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < learning_rate /\
  0 < second_learning_rate /\
  0 <= grpo_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists lowest : R, (0 < lowest) /\ (exists temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) /\ (exists weights : nat -> R, (forall k : nat, 0 <= weights k) /\ (exists rates : nat -> R, (forall k : nat, 0 <= rates k))))).

Definition witness_2 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (second_learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < learning_rate /\
  0 < second_learning_rate /\
  0 <= grpo_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists lowest : R, (0 < lowest) /\ (exists temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) /\ (exists weights : nat -> R, (forall k : nat, 0 <= weights k) /\ (exists rates : nat -> R, (forall k : nat, 0 <= rates k) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j * (1 + weights j))) 0 k <= bound))))))).

Definition witness_3 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (second_learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < learning_rate /\
  0 < second_learning_rate /\
  0 <= grpo_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists lowest : R, (0 < lowest) /\ (exists temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) /\ (exists weights : nat -> R, (forall k : nat, 0 <= weights k) /\ (exists rates : nat -> R, (forall k : nat, 0 <= rates k) /\ (tends_to (fun k => total_on n correct (softmax n (run (fun j z => (after_step n z correct (temperatures j) (weights j) (rates j))) logits k))) (1)))))).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition aepo_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (a : nat) : Prop :=
  unit_step_defined n logits correct temperature a.

Definition after_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (learning_rate : R) (a : nat) : Prop :=
  aepo_step_defined n logits correct temperature grpo_weight a.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (second_learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  0 < second_learning_rate ->
  0 <= grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall b, (b < n)%nat -> after_step_defined n logits correct temperature grpo_weight learning_rate b) /\
  (forall a, (a < n)%nat -> after_step_defined n (after_step n logits correct temperature grpo_weight learning_rate) correct temperature grpo_weight second_learning_rate a) /\
  (forall lowest : R, (0 < lowest) -> forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> forall rates : nat -> R, (forall k : nat, 0 <= rates k) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z correct (temperatures j) (weights j) (rates j) b) /\
  (forall lowest : R, (0 < lowest) -> forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> forall rates : nat -> R, (forall k : nat, 0 <= rates k) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j * (1 + weights j))) 0 k <= bound))) -> forall a, (a < n)%nat -> (correct a = true) -> forall j : nat, forall z : vector, forall c, (c < n)%nat -> after_step_defined n z correct (temperatures j) (weights j) (rates j) c) /\
  (forall lowest : R, (0 < lowest) -> forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> forall rates : nat -> R, (forall k : nat, 0 <= rates k) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j * (1 + weights j))) 0 k <= bound))) -> (tends_to (fun k => total_on n correct (softmax n (run (fun j z => (after_step n z correct (temperatures j) (weights j) (rates j))) logits k))) (1)) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z correct (temperatures j) (weights j) (rates j) b) /\
  (forall lowest : R, (0 < lowest) -> forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> forall rates : nat -> R, (forall k : nat, 0 <= rates k) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j * (1 + weights j))) 0 k <= bound))) -> (tends_to (fun k => total_on n correct (softmax n (run (fun j z => (after_step n z correct (temperatures j) (weights j) (rates j))) logits k))) (1)) -> 0 < count n logits correct) /\
  (forall lowest : R, (0 < lowest) -> forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> forall rates : nat -> R, (forall k : nat, 0 <= rates k) -> forall a, (a < n)%nat -> (correct a = true) -> forall j : nat, forall z : vector, forall c, (c < n)%nat -> after_step_defined n z correct (temperatures j) (weights j) (rates j) c).
