(** What the theorems beside extension.entropy_range_at_reward suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import entropy_range_at_reward.
Open Scope R_scope.

Definition widest_attained_witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  nonempty n correct /\
  nonempty n (complement correct) /\
  alike n correct logits.

Definition widest_attained_defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  nonempty n correct ->
  nonempty n (complement correct) ->
  alike n correct logits ->
  let right := total_on n correct (softmax n logits) in
  let wrong := total_on n (complement correct) (softmax n logits) in
  0 < right /\
  0 < wrong /\
  0 < count_on n correct /\
  0 < count_on n (complement correct).
