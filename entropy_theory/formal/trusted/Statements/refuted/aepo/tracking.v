(* Generated from the formula of the claim aepo.tracking (AEPO, Section 1 (approximating arbitrary functions)). *)

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

(** H of two answers whose logits differ by D. *)
Definition two_answer_entropy (gap : R) : R :=
  ln (1 + exp (- gap)) + gap * exp (- gap) / (1 + exp (- gap)).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (target_gap : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < target_gap ->
  0 < learning_rate ->
  0 < grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  9 * two_answer_entropy target_gap / 10 <= Rmin (exp (16 * learning_rate * (grpo_weight + 1)) * entropy n logits) (ceiling n logits correct) /\
  entropy n logits / exp (16 * learning_rate * (grpo_weight + 1)) <= 11 * two_answer_entropy target_gap / 10.

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

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (target_gap : R) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < target_gap ->
  0 < learning_rate ->
  0 < grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  ceiling_defined n logits correct /\
  two_answer_entropy_defined target_gap /\
  exp (16 * learning_rate * (grpo_weight + 1)) <> 0.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
