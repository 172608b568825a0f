(** What the theorems beside aepo.fixed_positives suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Trusted Require Import Definitions.
From Trusted.Theorems.aepo Require Import fixed_positives.
Open Scope R_scope.

Definition weight_witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (plain : R) (alpha : R) (beta : R),
  (1 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  rate n logits correct temperature <> 0 /\
  plain + alpha * rate n logits correct temperature = 0 /\
  plain + beta * fixed_rate n logits correct temperature = 0.

Definition tempered_conditional_defined (n : nat) (logits : vector) (chosen : mask) (temperature : R) : Prop :=
  temperature <> 0 /\
  total_on n chosen (softmax n (tempered temperature logits)) <> 0.

Definition fixed_rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  tempered_conditional_defined n logits correct temperature.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition weight_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (plain : R) (alpha : R) (beta : R),
  (1 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  rate_defined n logits correct temperature /\
  (rate n logits correct temperature <> 0 ->
  rate_defined n logits correct temperature /\
  (plain + alpha * rate n logits correct temperature = 0 ->
  fixed_rate_defined n logits correct temperature /\
  (plain + beta * fixed_rate n logits correct temperature = 0 ->
  temperature <> 0))).

Definition one_correct_answer_witness : Prop :=
  exists (n : nat) (k : nat) (temperature : R),
  (k < n)%nat /\
  0 < temperature.

Definition one_correct_answer_defined : Prop :=
  forall (n : nat) (logits : vector) (k : nat) (temperature : R),
  (k < n)%nat ->
  0 < temperature ->
  fixed_rate_defined n logits (single k) temperature.
