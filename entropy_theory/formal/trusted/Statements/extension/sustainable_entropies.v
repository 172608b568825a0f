(* Generated from the formula of the claim extension.sustainable-entropies (Extension of AEPO, title and Section 4.2 (exact expected dynamics of one tabular state)). *)

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

(** AEPO's switch: 5/4 where the entropy is below its target, 4/5 elsewhere. *)
Definition switch_temperature (is_low : bool) (like : R) : R :=
  if is_low then 5 / 4 else 4 / 5.

(** Logits after an exact expected AEPO step, with the temperature that the switch chooses. *)
Definition after_switched_step (n : nat) (logits : vector) (correct : mask) (target : R) (grpo_weight : R) (learning_rate : R) : vector :=
  after_step n logits correct (switch_temperature (less (entropy n logits) target) (entropy n logits)) grpo_weight learning_rate.

(** H of two answers whose logits differ by D. *)
Definition two_answer_entropy (gap : R) : R :=
  ln (1 + exp (- gap)) + gap * exp (- gap) / (1 + exp (- gap)).

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional_without_temperature (n : nat) (logits : vector) (chosen : mask) : vector :=
  fun a => (if chosen a then exp (logits a - largest_on n chosen logits) else 0) / sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0).

(** H(q), the entropy of the policy on the right answers: log sum e^{z - max z} + E_q[max z - z]. *)
Definition conditional_entropy (n : nat) (logits : vector) (correct : mask) : R :=
  ln (sum n (fun a => if correct a then exp (- (largest_on n correct logits - logits a)) else 0)) + mean n (conditional_without_temperature n logits correct) (fun a => largest_on n correct logits - logits a).

(** By how much the entropy on the right answers is below the target. *)
Definition lack (n : nat) (logits : vector) (correct : mask) (target : R) : R :=
  target - conditional_entropy n logits correct.

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional (n : nat) (logits : vector) (chosen : mask) (temperature : R) : vector :=
  fun a => (if chosen a then exp ((logits a - largest_on n chosen logits) / temperature) else 0) / sum n (fun b => if chosen b then exp ((logits b - largest_on n chosen logits) / temperature) else 0).

(** F(T) on the face of the right answers. *)
Definition conditional_rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => conditional n logits correct temperature a * centered n (conditional_without_temperature n logits correct) (fun b => conditional_without_temperature n logits correct b * centered n (conditional_without_temperature n logits correct) logits b) a).

(** (H* - H) F(T) on the face of the right answers, at the temperature of the switch. *)
Definition push (n : nat) (logits : vector) (correct : mask) (target : R) : R :=
  lack n logits correct target * conditional_rate n logits correct (switch_temperature (less 0 (lack n logits correct target)) (lack n logits correct target)).

(** The largest logit minus the smallest. *)
Definition logit_range (n : nat) (logits : vector) : R :=
  largest n logits - smallest n logits.

(** f_T(D) = tanh(D/2) - tanh(D/(2T)), by which the gap of two answers falls per unit learning rate. *)
Definition speed (gap : R) (temperature : R) : R :=
  2 * (- exp (- gap / temperature) * (exp (- gap * (temperature - 1) / temperature) - 1)) / ((1 + exp (- gap / temperature)) * (1 + exp (- gap))).

(** D' = D - eta f_T(D) at the temperature of the switch. *)
Definition moved_gap (gap : R) (target_gap : R) (learning_rate : R) : R :=
  gap - learning_rate * speed gap (switch_temperature (less (two_answer_entropy gap) (two_answer_entropy target_gap)) gap).

(** The largest of the chosen logits minus the smallest of them. *)
Definition range_on (n : nat) (logits : vector) (chosen : mask) : R :=
  largest_on n chosen logits - smallest_on n chosen logits.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (target_gap : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < target_gap ->
  0 < learning_rate ->
  learning_rate <= 2 ->
  0 < grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (entropy n logits <= ceiling n logits correct /\
  entropy n (after_switched_step n logits correct (two_answer_entropy target_gap) grpo_weight learning_rate) <= ceiling n logits correct /\
  entropy n (after_switched_step n (after_switched_step n logits correct (two_answer_entropy target_gap) grpo_weight learning_rate) correct (two_answer_entropy target_gap) grpo_weight learning_rate) <= ceiling n logits correct /\
  0 <= push n logits correct (two_answer_entropy target_gap) /\
  Rabs (moved_gap (logit_range n logits) target_gap learning_rate - target_gap) <= Rmax (Rabs (logit_range n logits - target_gap)) (learning_rate / 8) /\
  4 * Rabs (two_answer_entropy (moved_gap (logit_range n logits) target_gap learning_rate) - two_answer_entropy target_gap) <= Rmax (Rabs (logit_range n logits - target_gap)) (learning_rate / 8)) /\
  (forall target : R, ((0 <= push n logits correct target) /\ (((0 < lack n logits correct target * lack n logits correct target) /\ (0 < range_on n logits correct)) -> 0 < push n logits correct target))) /\
  (forall lowest : R, (0 < lowest) -> (forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> (forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> ((forall k : nat, entropy n (run (fun j z => (after_step n z correct (temperatures j) (weights j) learning_rate)) logits k) <= ceiling n logits correct) /\ (limsup_at_most (fun k => entropy n (run (fun j z => (after_step n z correct (temperatures j) (weights j) learning_rate)) logits k)) (ln (count n logits correct))))))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (target_gap : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < target_gap /\
  0 < learning_rate /\
  learning_rate <= 2 /\
  0 < grpo_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (target_gap : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < target_gap /\
  0 < learning_rate /\
  learning_rate <= 2 /\
  0 < grpo_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists lowest : R, (0 < lowest) /\ (exists temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) /\ (exists weights : nat -> R, (forall k : nat, 0 <= weights k)))).

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

Definition two_answer_entropy_defined (gap : R) : Prop :=
  0 < 1 + exp (- gap) /\
  1 + exp (- gap) <> 0.

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition aepo_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (a : nat) : Prop :=
  unit_step_defined n logits correct temperature a.

Definition after_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (learning_rate : R) (a : nat) : Prop :=
  aepo_step_defined n logits correct temperature grpo_weight a.

Definition after_switched_step_defined (n : nat) (logits : vector) (correct : mask) (target : R) (grpo_weight : R) (learning_rate : R) (a : nat) : Prop :=
  after_step_defined n logits correct (switch_temperature (less (entropy n logits) target) (entropy n logits)) grpo_weight learning_rate a.

Definition conditional_without_temperature_defined (n : nat) (logits : vector) (chosen : mask) (a : nat) : Prop :=
  sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0) <> 0.

Definition conditional_entropy_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  0 < sum n (fun a => if correct a then exp (- (largest_on n correct logits - logits a)) else 0) /\
  (forall a, (a < n)%nat -> conditional_without_temperature_defined n logits correct a).

Definition lack_defined (n : nat) (logits : vector) (correct : mask) (target : R) : Prop :=
  conditional_entropy_defined n logits correct.

Definition conditional_defined (n : nat) (logits : vector) (chosen : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0 /\
  sum n (fun b => if chosen b then exp ((logits b - largest_on n chosen logits) / temperature) else 0) <> 0.

Definition conditional_rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  (forall a, (a < n)%nat -> (correct a = true) -> conditional_defined n logits correct temperature a) /\
  (forall a, (a < n)%nat -> (correct a = true) -> forall b, (b < n)%nat -> conditional_without_temperature_defined n logits correct b) /\
  (forall a, (a < n)%nat -> (correct a = true) -> forall c, (c < n)%nat -> conditional_without_temperature_defined n logits correct c).

Definition push_defined (n : nat) (logits : vector) (correct : mask) (target : R) : Prop :=
  lack_defined n logits correct target /\
  conditional_rate_defined n logits correct (switch_temperature (less 0 (lack n logits correct target)) (lack n logits correct target)).

Definition speed_defined (gap : R) (temperature : R) : Prop :=
  temperature <> 0 /\
  (1 + exp (- gap / temperature)) * (1 + exp (- gap)) <> 0.

Definition moved_gap_defined (gap : R) (target_gap : R) (learning_rate : R) : Prop :=
  two_answer_entropy_defined gap /\
  two_answer_entropy_defined target_gap /\
  speed_defined gap (switch_temperature (less (two_answer_entropy gap) (two_answer_entropy target_gap)) gap).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (target_gap : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < target_gap ->
  0 < learning_rate ->
  learning_rate <= 2 ->
  0 < grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  ceiling_defined n logits correct /\
  two_answer_entropy_defined target_gap /\
  (forall a, (a < n)%nat -> after_switched_step_defined n logits correct (two_answer_entropy target_gap) grpo_weight learning_rate a) /\
  (forall b, (b < n)%nat -> after_switched_step_defined n logits correct (two_answer_entropy target_gap) grpo_weight learning_rate b) /\
  (forall a, (a < n)%nat -> after_switched_step_defined n (after_switched_step n logits correct (two_answer_entropy target_gap) grpo_weight learning_rate) correct (two_answer_entropy target_gap) grpo_weight learning_rate a) /\
  push_defined n logits correct (two_answer_entropy target_gap) /\
  moved_gap_defined (logit_range n logits) target_gap learning_rate /\
  two_answer_entropy_defined (moved_gap (logit_range n logits) target_gap learning_rate) /\
  (forall target : R, push_defined n logits correct target) /\
  (forall target : R, (0 <= push n logits correct target) -> lack_defined n logits correct target) /\
  (forall target : R, (0 <= push n logits correct target) -> ((0 < lack n logits correct target * lack n logits correct target) /\ (0 < range_on n logits correct)) -> push_defined n logits correct target) /\
  (forall lowest : R, (0 < lowest) -> forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z correct (temperatures j) (weights j) learning_rate b) /\
  (forall lowest : R, (0 < lowest) -> forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> (forall k : nat, entropy n (run (fun j z => (after_step n z correct (temperatures j) (weights j) learning_rate)) logits k) <= ceiling n logits correct) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z correct (temperatures j) (weights j) learning_rate b) /\
  (forall lowest : R, (0 < lowest) -> forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> (forall k : nat, entropy n (run (fun j z => (after_step n z correct (temperatures j) (weights j) learning_rate)) logits k) <= ceiling n logits correct) -> 0 < count n logits correct).
