(* Generated from the formula of the claim aepo.tracking (AEPO, Section 1 (approximating arbitrary functions)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

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

(** The largest logit minus the smallest. *)
Definition logit_range (n : nat) (logits : vector) : R :=
  largest n logits - smallest n logits.

(** f_T(D) = tanh(D/2) - tanh(D/(2T)), by which the gap of two answers falls per unit learning rate. *)
Definition speed (gap : R) (temperature : R) : R :=
  2 * (- exp (- gap / temperature) * (exp (- gap * (temperature - 1) / temperature) - 1)) / ((1 + exp (- gap / temperature)) * (1 + exp (- gap))).

(** AEPO's switch: 5/4 where the entropy is below its target, 4/5 elsewhere. *)
Definition switch_temperature (is_low : bool) (like : R) : R :=
  if is_low then 5 / 4 else 4 / 5.

(** H of two answers whose logits differ by D. *)
Definition two_answer_entropy (gap : R) : R :=
  ln (1 + exp (- gap)) + gap * exp (- gap) / (1 + exp (- gap)).

(** f_T(D) at the temperature of the switch. *)
Definition switched_speed (gap : R) (target_gap : R) : R :=
  speed gap (switch_temperature (less (two_answer_entropy gap) (two_answer_entropy target_gap)) gap).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (target_gap : R) (learning_rate : R) (grpo_weight : R) (drift : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < target_gap ->
  0 < learning_rate ->
  0 < grpo_weight ->
  0 < drift ->
  (entropy n (after_step n logits correct temperature grpo_weight learning_rate) <= exp (2 * learning_rate * (grpo_weight + 1)) * entropy n logits /\
  entropy n logits <= exp (2 * learning_rate * (grpo_weight + 1)) * entropy n (after_step n logits correct temperature grpo_weight learning_rate) /\
  Rabs (logit_range n logits - learning_rate * switched_speed (logit_range n logits) target_gap - target_gap) <= Rmax (Rabs (logit_range n logits - target_gap) - Rabs (learning_rate * switched_speed (logit_range n logits) target_gap)) (learning_rate / 8)) /\
  (forall next_target : R, (Rabs (next_target - target_gap) <= drift) -> (Rabs (logit_range n logits - learning_rate * switched_speed (logit_range n logits) target_gap - next_target) <= Rmax (Rabs (logit_range n logits - target_gap) - Rabs (learning_rate * switched_speed (logit_range n logits) target_gap)) (learning_rate / 8) + drift)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (target_gap : R) (learning_rate : R) (grpo_weight : R) (drift : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < target_gap /\
  0 < learning_rate /\
  0 < grpo_weight /\
  0 < drift.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (target_gap : R) (learning_rate : R) (grpo_weight : R) (drift : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < target_gap /\
  0 < learning_rate /\
  0 < grpo_weight /\
  0 < drift /\
  (exists next_target : R, (Rabs (next_target - target_gap) <= drift)).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition aepo_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (a : nat) : Prop :=
  unit_step_defined n logits correct temperature a.

Definition after_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (learning_rate : R) (a : nat) : Prop :=
  aepo_step_defined n logits correct temperature grpo_weight a.

Definition two_answer_entropy_defined (gap : R) : Prop :=
  0 < 1 + exp (- gap) /\
  1 + exp (- gap) <> 0.

Definition speed_defined (gap : R) (temperature : R) : Prop :=
  temperature <> 0 /\
  (1 + exp (- gap / temperature)) * (1 + exp (- gap)) <> 0.

Definition switched_speed_defined (gap : R) (target_gap : R) : Prop :=
  two_answer_entropy_defined gap /\
  two_answer_entropy_defined target_gap /\
  speed_defined gap (switch_temperature (less (two_answer_entropy gap) (two_answer_entropy target_gap)) gap).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (target_gap : R) (learning_rate : R) (grpo_weight : R) (drift : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < target_gap ->
  0 < learning_rate ->
  0 < grpo_weight ->
  0 < drift ->
  (forall a, (a < n)%nat -> after_step_defined n logits correct temperature grpo_weight learning_rate a) /\
  switched_speed_defined (logit_range n logits) target_gap.
